//! A scene as pixels.

use tiny_skia::{
    FillRule, LineCap, LineJoin, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

use super::font;
use super::palette::{Paint, Scheme};
use super::scene::{Anchor, Scene, Shape};

/// Pixels that a picture may have: 64 MiB.
const MOST_PIXELS: f64 = (1 << 24) as f64;

/// The picture as a PNG file with a background; `scale` pixels per pixel of the scene, less where the
/// picture would get too large.
pub(crate) fn write(scene: &Scene, scheme: Scheme, scale: f64) -> Vec<u8> {
    let area = scene.width * scene.height;
    let scale = scale.clamp(0.1, 8.0).min((MOST_PIXELS / area).sqrt());
    let size = |length: f64| ((length * scale).round() as u32).max(1);
    let mut pixels = Pixmap::new(size(scene.width), size(scene.height)).expect("the size is limited");
    pixels.fill(colour(Paint::Surface, scheme, 1.0));
    let mut canvas = Canvas { pixels, scheme, transform: Transform::from_scale(scale as f32, scale as f32) };
    scene.shapes.iter().for_each(|shape| canvas.draw(shape));
    canvas.pixels.encode_png().expect("writing to memory cannot fail")
}

fn colour(paint: Paint, scheme: Scheme, opacity: f64) -> tiny_skia::Color {
    let [r, g, b] = paint.rgb(scheme);
    tiny_skia::Color::from_rgba8(r, g, b, (255.0 * opacity).round() as u8)
}

struct Canvas {
    pixels: Pixmap,
    scheme: Scheme,
    transform: Transform,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Boxes { boxes, paint, opacity } => {
                let mut path = PathBuilder::new();
                for [x, y, width, height] in boxes {
                    if let Some(rect) = Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32) {
                        path.push_rect(rect);
                    }
                }
                self.fill(path.finish(), *paint, *opacity, Transform::identity());
            }
            Shape::Line { points, paint, width, dash } => {
                let path = connected(points.iter().copied());
                let dash = StrokeDash::new(dash.to_vec(), 0.0);
                self.stroke(path.finish(), *paint, *width, dash);
            }
            Shape::Mark { mark, x, y, radius, paint, hollow } => {
                let path = if mark.corners().is_empty() {
                    PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32)
                } else {
                    let mut path =
                        connected(mark.corners().iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)));
                    path.close();
                    path.finish()
                };
                let inside = if *hollow { Paint::Surface } else { *paint };
                self.fill(path.clone(), inside, 1.0, Transform::identity());
                if *hollow {
                    self.stroke(path, *paint, 1.6, None);
                }
            }
            Shape::Text { x, y, size, bold, anchor, paint, turned, text } => {
                let shift = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5,
                    Anchor::End => 1.0,
                } * font::width(text, *size, *bold);
                let mut pen = Pen(PathBuilder::new());
                font::outline(text, *size, *bold, &mut pen);
                let place = if *turned { Transform::from_rotate(-90.0) } else { Transform::identity() }
                    .pre_translate(-shift as f32, 0.0)
                    .post_translate(*x as f32, *y as f32);
                self.fill(pen.0.finish(), *paint, 1.0, place);
            }
        }
    }

    fn fill(&mut self, path: Option<Path>, paint: Paint, opacity: f64, place: Transform) {
        let Some(path) = path else { return };
        let paint = self.paint(paint, opacity);
        self.pixels.fill_path(&path, &paint, FillRule::Winding, place.post_concat(self.transform), None);
    }

    fn stroke(&mut self, path: Option<Path>, paint: Paint, width: f64, dash: Option<StrokeDash>) {
        let Some(path) = path else { return };
        let paint = self.paint(paint, 1.0);
        let stroke = Stroke {
            width: width as f32,
            dash,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..Stroke::default()
        };
        self.pixels.stroke_path(&path, &paint, &stroke, self.transform, None);
    }

    fn paint(&self, paint: Paint, opacity: f64) -> tiny_skia::Paint<'static> {
        let mut brush = tiny_skia::Paint::default();
        brush.set_color(colour(paint, self.scheme, opacity));
        brush
    }
}

fn connected(points: impl Iterator<Item = (f64, f64)>) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (at, (x, y)) in points.enumerate() {
        if at == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
    }
    path
}

/// Outlines of letters as a path.
struct Pen(PathBuilder);

impl ttf_parser::OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_where_it_should_be_in_its_colour() {
        let mut scene = Scene::new(20.0, 10.0);
        scene.fill(10.0, 0.0, 10.0, 10.0, Paint::Compute);
        let png = write(&scene, Scheme::Light, 2.0);
        let pixels = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (40, 20));
        let at = |x, y| {
            let pixel = pixels.pixel(x, y).unwrap();
            [pixel.red(), pixel.green(), pixel.blue()]
        };
        assert_eq!(at(5, 5), [255, 255, 255]);
        assert_eq!(at(30, 10), Paint::Compute.rgb(Scheme::Light));
    }

    #[test]
    fn text_leaves_ink_where_it_is_anchored() {
        let mut scene = Scene::new(60.0, 20.0);
        scene.text(55.0, 15.0, Anchor::End, Paint::Ink, 12.0, "HHH");
        let pixels = Pixmap::decode_png(&write(&scene, Scheme::Light, 1.0)).unwrap();
        let inked = |range: std::ops::Range<u32>| {
            range
                .flat_map(|x| (0..20).map(move |y| (x, y)))
                .filter(|&(x, y)| pixels.pixel(x, y).unwrap().red() < 128)
                .count()
        };
        let width = font::width("HHH", 12.0, false) as u32;
        assert!(inked(55 - width - 1..56) > 30);
        assert_eq!(inked(0..55 - width - 1) + inked(57..60), 0);
    }

    #[test]
    fn an_enormous_picture_is_drawn_smaller() {
        let png = write(&Scene::new(20_000.0, 20_000.0), Scheme::Dark, 8.0);
        assert!(Pixmap::decode_png(&png).unwrap().width() <= 4096);
    }
}
