//! The attributes of a `<cluster>`.

use std::borrow::Cow;

use stratasim_core::Duration;

use super::{Policy, cores, policy, speeds};
use crate::Sharing;
use crate::graph::LinkType;
use crate::io::simgrid::cluster::{Cluster, Radical};
use crate::io::simgrid::read::{Frame, Parse};
use crate::io::simgrid::units;
use crate::io::xml::{Element, XmlError};

impl<'a> Parse<'a> {
    /// A `<cluster>`.
    pub(in crate::io::simgrid) fn cluster(
        &mut self,
        zone: u32,
        element: &Element<'a>,
    ) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [
            id,
            prefix,
            suffix,
            radical,
            speed,
            power,
            core,
            bw,
            lat,
            sharing,
            topology,
            parameters,
            bb_bw,
            bb_lat,
            bb_sharing,
            router,
            limiter,
            loopback_bw,
            loopback_lat,
        ] = element.values(
            &source,
            [
                "id",
                "prefix",
                "suffix",
                "radical",
                "speed",
                "power",
                "core",
                "bw",
                "lat",
                "sharing_policy",
                "topology",
                "topo_parameters",
                "bb_bw",
                "bb_lat",
                "bb_sharing_policy",
                "router_id",
                "limiter_link",
                "loopback_bw",
                "loopback_lat",
            ],
        )?;
        let text =
            |key, value: Option<Cow<'_, str>>| element.required(&source, key, value).map(Cow::into_owned);
        let rate = |value: Option<&str>| match value {
            None | Some("") => Ok(None),
            Some(value) => {
                units::bandwidth(value).map(|rate| Some(rate).filter(|rate| rate.bytes_per_s() > 0.0))
            }
        };
        let delay = |value: Option<&str>| match value {
            None | Some("") => Ok(Duration::ZERO),
            Some(value) => units::time(value),
        };
        // a link of its own when it has a rate or a delay; without a rate the message says what is missing
        let own = |key: &str, bandwidth: Option<&str>, latency: Option<&str>, sharing| {
            let (bandwidth, latency) = (rate(bandwidth)?, delay(latency)?);
            match bandwidth {
                Some(bandwidth) => Ok(Some(LinkType { bandwidth, latency, sharing })),
                None if latency == Duration::ZERO => Ok(None),
                None => Err(format!("{key}_lat without {key}_bw; a link needs a bandwidth")),
            }
        };
        let speeds = speeds(&text("speed", speed.or(power))?).map_err(fail)?;
        let backbone_sharing = match policy(bb_sharing.as_deref(), Policy::Shared).map_err(fail)? {
            Policy::Shared => Sharing::Shared,
            Policy::FatPipe => Sharing::FatPipe,
            Policy::Split => return Err(fail("bb_sharing_policy must be SHARED or FATPIPE".to_owned())),
        };
        let cluster = Cluster {
            id: text("id", id)?,
            prefix: text("prefix", prefix)?,
            suffix: text("suffix", suffix)?,
            radical: Radical::read(&text("radical", radical)?).map_err(fail)?,
            speed: speeds[0],
            cores: cores(core.as_deref()).map_err(fail)?,
            bandwidth: units::bandwidth(&text("bw", bw)?).map_err(fail)?,
            latency: units::time(&text("lat", lat)?).map_err(fail)?,
            split: policy(sharing.as_deref(), Policy::Split).map_err(fail)? == Policy::Split,
            backbone: own("bb", bb_bw.as_deref(), bb_lat.as_deref(), backbone_sharing).map_err(fail)?,
            limiter: rate(limiter.as_deref()).map_err(fail)?,
            loopback: own("loopback", loopback_bw.as_deref(), loopback_lat.as_deref(), Sharing::FatPipe)
                .map_err(fail)?,
            router: router.map(Cow::into_owned).unwrap_or_default(),
            topology: topology.map_or_else(|| "FLAT".to_owned(), Cow::into_owned),
            parameters: parameters.map(Cow::into_owned).unwrap_or_default(),
        };
        let hosts = cluster.build(&mut self.world, zone).map_err(fail)?;
        if speeds.len() > 1 {
            for &host in &hosts {
                self.power_states.insert(host, speeds.clone());
            }
        }
        Ok(Frame::Nodes(hosts))
    }
}
