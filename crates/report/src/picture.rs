//! Pictures: timelines, bars, curves and heat maps, as SVG and PNG.
//!
//! A picture has labelled axes with units, follows the reader's light or dark scheme, and stays small
//! whatever it shows: what is finer than a pixel is drawn as its sum.

mod axis;
mod bars;
mod font;
mod heat_map;
mod lines;
mod palette;
mod png;
mod scene;
mod svg;
mod timeline;
mod traffic;

#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use bars::{Bars, breakdown_bars, job_bars, link_bars};
pub use heat_map::{HeatMap, link_heat_map};
pub use lines::{LineChart, Series};
pub use palette::Scheme;
pub use timeline::{MOST_RANKS, Timeline, pictured};
pub use traffic::{channel_map, latency_over_time, load_over_time};

use scene::Scene;
use serde::{Deserialize, Serialize};
use svg::Colours;

/// A finished picture. Its serialised form is for other processes of the same version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Picture {
    scene: Scene,
    title: String,
}

impl Picture {
    fn new(scene: Scene, title: impl Into<String>) -> Self {
        Self { scene, title: title.into() }
    }

    /// What it shows, in a few words; readers that cannot see it are told this.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Width and height in pixels.
    pub const fn size(&self) -> (f64, f64) {
        (self.scene.width, self.scene.height)
    }

    /// As SVG without background, in colours that follow the reader's light or dark scheme.
    pub fn svg(&self) -> String {
        svg::write(&self.scene, &self.title, Colours::Reader)
    }

    /// As SVG with background, always in the colours of `scheme`.
    pub fn svg_in(&self, scheme: Scheme) -> String {
        svg::write(&self.scene, &self.title, Colours::Fixed(scheme))
    }

    /// As a PNG file with background, `scale` times as large as the SVG (2 is sharp on most screens).
    pub fn png(&self, scheme: Scheme, scale: f64) -> Vec<u8> {
        png::write(&self.scene, scheme, scale)
    }
}
