//! Buffers that are shorter than what long cables carry until the first credit is back.

use super::run;

/// Machines of two hosts, with a cable between routers and with cables to a switch.
const MACHINES: [&str; 2] = ["kind = \"mesh\"\ndimensions = [2]", "kind = \"single-switch\"\nnodes = 2"];

/// Two hosts that send to each other as much as they can over cables of 80 cycles: what is accepted, and the notes.
fn pair(machine: &str, router: &str, flits: u32) -> (f64, Vec<String>) {
    let result = run(&format!(
        "[topology]\n{machine}\nbandwidth = \"256 Gbps\"\nlatency = \"80 ns\"\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n{router}\n\
         [traffic]\nload = 0.99\nflits = {flits}\npattern = {{ kind = \"list\", pairs = [[0, 1], [1, 0]] }}\n\
         measure = {{ warm-up = 5000, window = 5000, windows = 4 }}\n"
    ));
    let accepted = result.traffic.expect("traffic").accepted_flits_per_cycle;
    (accepted, result.notes)
}

#[test]
fn a_note_says_how_little_short_buffers_let_through_and_how_long_ones_do() {
    for machine in MACHINES {
        // one channel is held up by each head, and several carry no more where packets are longer than their buffers
        for (router, flits) in
            [("virtual-channels = 1, buffer-flits = 8", 64), ("virtual-channels = 4, buffer-flits = 8", 4)]
        {
            let (accepted, notes) = pair(machine, &format!("router = {{ {router} }}"), flits);
            let note = notes
                .iter()
                .find(|note| note.contains("buffer-flits"))
                .unwrap_or_else(|| panic!("{notes:?}"));
            let behind = |words: &str| {
                let number = note.split(words).nth(1).expect(words).split([' ', '`']).next().expect("a word");
                number.parse::<f64>().expect("a number")
            };
            let most = behind("at most ") / 100.0;
            assert!(accepted <= most + 1e-3 && accepted > 0.95 * most, "{accepted}: {note}");
            let long =
                router.replace("buffer-flits = 8", &format!("buffer-flits = {}", behind("buffer-flits = ")));
            let (accepted, notes) = pair(machine, &format!("router = {{ {long} }}"), flits);
            assert!(!notes.iter().any(|note| note.contains("buffer-flits")), "{notes:?}");
            assert!(accepted > 0.9, "{accepted} with {long}");
        }
        let (accepted, notes) = pair(machine, "", 4);
        assert!(
            accepted > 0.95 && notes.iter().all(|note| !note.contains("buffer-flits")),
            "{accepted}, {notes:?}"
        );
    }
}
