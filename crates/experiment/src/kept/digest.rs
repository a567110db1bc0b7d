//! The name of a result: a digest of everything that determines it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stratasim_topo::io::simgrid::files_named;

/// FNV-1a with 128 bits (Fowler, Noll, Vo; RFC 9923): the same on every machine and in every version.
/// Nobody attacks the names of points, and a result is only taken for that of a point when the specs
/// are equal, too.
struct Fnv(u128);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

/// The digest of a resolved spec, and of the files that it names, in 32 hexadecimal digits.
pub(crate) fn of(spec: &Value, base: &Path) -> String {
    let mut digest = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    digest.add(spec.to_string().as_bytes());
    // so that a changed file is another point; one that cannot be read is reported when the point is built
    each_file(spec, base, &mut |path| add_file(&path, &mut digest));
    format!("{:032x}", digest.0)
}

/// Keys whose values name files: of topologies and graphs, of GOAL schedules, of recorded noise, of cards.
const FILES: [&str; 5] = ["path", "file", "trace", "card", "base"];

/// Calls `each` with the files under such keys.
pub(crate) fn each_file(value: &Value, base: &Path, each: &mut dyn FnMut(PathBuf)) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| each_file(item, base, each)),
        Value::Object(table) => {
            let text = |key| table.get(key).and_then(Value::as_str);
            for (key, item) in table {
                match item {
                    Value::String(path) if FILES.contains(&key.as_str()) => each(base.join(path)),
                    _ => each_file(item, base, each),
                }
            }
            // a platform names more
            if let (Some("simgrid-xml"), Some(path)) = (text("kind"), text("path")) {
                let platform = base.join(path);
                // a pipe may never end
                let text =
                    Some(&platform).filter(|it| it.is_file()).and_then(|it| fs::read_to_string(it).ok());
                files_named(&text.unwrap_or_default())
                    .iter()
                    .for_each(|file| each(platform.with_file_name(file)));
            }
        }
        _ => {}
    }
}

/// Adds the content of a file, which may be large.
fn add_file(path: &Path, digest: &mut Fnv) {
    // a pipe may never end
    if !path.is_file() {
        return;
    }
    let Ok(mut file) = File::open(path) else { return };
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = file.read(&mut piece) {
        digest.add(&piece[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_gives_the_published_values() {
        let hash = |text: &str| {
            let mut digest = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
            digest.add(text.as_bytes());
            digest.0
        };
        // test vectors of the FNV authors
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn another_file_that_a_platform_names_is_another_point() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("it")).unwrap();
        let spec = serde_json::json!({"of": {"kind": "simgrid-xml", "path": "it/platform.xml"}});
        for platform in
            [r#"<platform><link bandwidth_file="some.bw"/></platform>"#, r#"<a><trace file="some.bw"/><"#]
        {
            fs::write(folder.path().join("it/platform.xml"), platform).unwrap();
            let [first, second] = ["0 1e9", "0 1e8"].map(|profile| {
                fs::write(folder.path().join("it/some.bw"), profile).unwrap();
                of(&spec, folder.path())
            });
            assert_ne!(first, second);
        }
    }

    #[test]
    fn another_value_or_another_file_is_another_point() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.json");
        for (section, key) in [("topology", "path"), ("workload", "file"), ("noise", "trace")] {
            let spec = |seed: u32| serde_json::json!({"seed": seed, section: {key: "graph.json"}});
            fs::write(&path, "{}").unwrap();
            let first = of(&spec(1), folder.path());
            assert_eq!(first, of(&spec(1), folder.path()));
            assert_ne!(first, of(&spec(2), folder.path()));
            fs::write(&path, "{ }").unwrap();
            assert_ne!(first, of(&spec(1), folder.path()));
        }
    }
}
