//! `<trace>` and `<trace_connect>`: values that change over time.

use std::path::{Component, Path};

use stratasim_core::files::read_below;

use super::read::{Connection, Parse};
use super::routes::Point;
use super::trace;
use crate::io::profile::{LinkProfiles, NodeProfiles, Profile};
use crate::io::xml::{Element, XmlError};

impl<'a> Parse<'a> {
    /// The profile in `file`.
    pub(super) fn profile_file(&self, element: &Element<'a>, file: &str) -> Result<Profile, XmlError> {
        let fail = |reason: String| element.error(&self.source, reason);
        // a platform from elsewhere names no other file of this machine
        let beside =
            Path::new(file).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if !beside {
            return Err(fail(format!(
                "the trace file `{file}` is not beside or below this file; give a relative path without `..`"
            )));
        }
        let path = self.base.join(file);
        let text = read_below("", &path, "the platform's folder").map_err(|e| fail(e.reason))?;
        self.profile_text(&text, file, -1.0)
            .map_err(|(line, reason)| fail(format!("{file}, line {}: {reason}", line + 1)))
    }

    /// The profile that `text` describes; `name` chooses the random stream.
    fn profile_text(&self, text: &str, name: &str, period_s: f64) -> Result<Profile, (usize, String)> {
        trace::read(text, period_s, &mut self.streams.stream(&format!("simgrid-trace/{name}")))
    }

    /// A `<trace>` ends.
    pub(super) fn trace(
        &mut self,
        element: &Element<'a>,
        text: &str,
        text_at: usize,
    ) -> Result<(), XmlError> {
        let source = self.source;
        let [id, file, period] = element.values(&source, ["id", "file", "periodicity"])?;
        let id = element.required(&source, "id", id)?.into_owned();
        let period_s = match period.as_deref() {
            None => -1.0,
            Some(text) => {
                text.trim().parse::<f64>().ok().filter(|period| period.is_finite()).ok_or_else(|| {
                    element.error(&source, format!("periodicity=`{text}`, a number of seconds is expected"))
                })?
            }
        };
        let profile = match file.as_deref() {
            Some(file) if !file.is_empty() => self.profile_file(element, file)?,
            _ if text.trim().is_empty() => {
                return Err(
                    element.error(&source, format!("the trace `{id}` is empty; give it points or a file"))
                );
            }
            _ => self.profile_text(text, &id, period_s).map_err(|(line, reason)| {
                let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                source.error(text_at + before, "trace", reason)
            })?,
        };
        if self.traces.insert(id.clone(), profile).is_some() {
            return Err(element.error(&source, format!("a trace called `{id}` is there already")));
        }
        Ok(())
    }

    /// A `<trace_connect>`; carried out at the end of the file.
    pub(super) fn connect(&mut self, element: Element<'a>) -> Result<super::read::Frame<'a>, XmlError> {
        let source = &self.source;
        let [kind, trace, target] = element.values(source, ["kind", "trace", "element"])?;
        let kind = kind.as_deref().unwrap_or("HOST_AVAIL").to_owned();
        let trace = element.required(source, "trace", trace)?.into_owned();
        let target = element.required(source, "element", target)?.into_owned();
        self.connections.push(Connection { kind, trace, target, element });
        Ok(super::read::Frame::Leaf)
    }

    /// Carries out every `<trace_connect>`.
    pub(super) fn connect_traces(&mut self) -> Result<(), XmlError> {
        let source = self.source;
        for Connection { kind, trace, target, element } in std::mem::take(&mut self.connections) {
            let fail = |reason: String| Err(element.error(&source, reason));
            let Some(profile) = self.traces.get(&trace).cloned() else {
                return fail(format!("no trace called `{trace}` is in this file"));
            };
            let link_slot: Option<fn(&mut LinkProfiles) -> &mut Option<Profile>> = match kind.as_str() {
                "BANDWIDTH" => Some(|profiles| &mut profiles.bandwidth),
                "LATENCY" => Some(|profiles| &mut profiles.latency),
                "LINK_AVAIL" => Some(|profiles| &mut profiles.state),
                _ => None,
            };
            let node_slot: Option<fn(&mut NodeProfiles) -> &mut Option<Profile>> = match kind.as_str() {
                "SPEED" | "POWER" => Some(|profiles| &mut profiles.speed),
                "HOST_AVAIL" => Some(|profiles| &mut profiles.state),
                _ => None,
            };
            let mut slots = Vec::new();
            match (link_slot, node_slot) {
                (Some(slot), _) => {
                    let single = self.world.find_link(&target).map(|link| vec![link]);
                    let links = single.or_else(|| self.world.find_split(&target).map(Vec::from));
                    let Some(links) = links else {
                        return fail(format!("no link called `{target}` is in this file"));
                    };
                    let store = self.world.builder.profiles_mut();
                    for link in links {
                        slots.push(slot(store.links.entry(link).or_default()).replace(profile.clone()));
                    }
                }
                (_, Some(slot)) => {
                    let Some(Point::Node(node)) = self.world.find(&target) else {
                        return fail(format!("no host called `{target}` is in this file"));
                    };
                    let store = self.world.builder.profiles_mut();
                    slots.push(slot(store.nodes.entry(node).or_default()).replace(profile));
                }
                _ => {
                    return fail(format!(
                        "the kind `{kind}` is unknown (known: HOST_AVAIL, SPEED, LINK_AVAIL, BANDWIDTH, LATENCY)"
                    ));
                }
            }
            if slots.iter().any(Option::is_some) {
                return fail(format!("`{target}` has a profile of kind {kind} already"));
            }
        }
        Ok(())
    }
}
