//! What tensor and sequence parallelism inside a card exchange: equations 1 and 2 of the SW-IntraCC paper
//! (Zhao et al., "SW-IntraCC: a collective communication mechanism for the internals of Sunway AI acceleration
//! card", 2025, DOI 10.7544/issn1000-1239.202550143).

/// All-gathers of one decoder in a step that recomputes every activation: two in the forward pass, two when
/// it is repeated, two in the backward pass. There are as many reduce-scatters.
pub const EXCHANGES: u32 = 6;

/// Bytes that the all-gathers of one decoder move in a step: `exchanges value_bytes samples sequence hidden`, where
/// `samples` are those of one replica (equation 1 without its layers). The reduce-scatters move as many (equation 2).
pub fn layer_bytes(exchanges: f64, value_bytes: f64, samples: f64, sequence: f64, hidden: f64) -> f64 {
    exchanges * value_bytes * samples * sequence * hidden
}

/// A training step as far as the exchanges of activations depend on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// All-gathers per decoder and micro-batch, and as many reduce-scatters; [`EXCHANGES`] in the paper.
    pub exchanges: u32,
    /// Bytes of one value.
    pub value_bytes: u64,
    /// Sequences per step, of all replicas together.
    pub batch: u64,
    /// Replicas that share the batch.
    pub data_parallel: u64,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Hidden size.
    pub hidden: u64,
    /// Decoders.
    pub layers: u32,
    /// Stages that share the decoders.
    pub pipeline: u32,
}

impl Step {
    /// Bytes that the all-gathers of one decoder move in a step; see [`layer_bytes`].
    pub fn bytes_per_layer(&self) -> f64 {
        layer_bytes(
            f64::from(self.exchanges),
            self.value_bytes as f64,
            self.batch as f64 / self.data_parallel as f64,
            self.sequence as f64,
            self.hidden as f64,
        )
    }

    /// Decoders of one stage. Not whole where the stages are not equal, as in the paper, which counts 44 / 16.
    pub fn layers_per_stage(&self) -> f64 {
        f64::from(self.layers) / f64::from(self.pipeline)
    }

    /// Bytes of the all-gathers of one stage in a step (equation 1), and of the reduce-scatters (equation 2).
    pub fn bytes_per_stage(&self) -> f64 {
        self.bytes_per_layer() * self.layers_per_stage()
    }

    /// Bytes that one all-gather leaves in each member, and that one reduce-scatter starts from: the
    /// activations of `micro_batch` sequences.
    pub fn message_bytes(&self, micro_batch: u64) -> u64 {
        micro_batch.saturating_mul(self.sequence).saturating_mul(self.hidden).saturating_mul(self.value_bytes)
    }

    /// Tokens that a step learns from.
    pub fn tokens(&self) -> f64 {
        self.batch as f64 * self.sequence as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLAMA: Step = Step {
        exchanges: EXCHANGES,
        value_bytes: 2,
        batch: 2048,
        data_parallel: 8,
        sequence: 1024,
        hidden: 8192,
        layers: 80,
        pipeline: 16,
    };

    #[test]
    fn a_stage_of_llama_exchanges_what_the_paper_says_for_the_only_sequence_that_gives_it() {
        let gib = |step: Step| step.bytes_per_stage() / f64::from(1 << 30);
        assert_eq!(gib(LLAMA), 120.0);
        // the days of table 5 need 2^22 tokens a step, and with them twice the printed volume
        let of_table_5 = Step { sequence: 2048, ..LLAMA };
        assert_eq!(of_table_5.tokens(), f64::from(1 << 22));
        assert_eq!(gib(of_table_5), 240.0);
    }

    #[test]
    fn a_layer_is_its_messages_one_after_another() {
        let step = Step { batch: 1538, sequence: 2048, hidden: 6144, layers: 44, ..LLAMA };
        // 1538 sequences on 8 replicas: 192.25 micro-batches of one
        let messages = 6.0 * 1538.0 / 8.0;
        assert_eq!(step.bytes_per_layer(), messages * step.message_bytes(1) as f64);
        assert_eq!(step.layers_per_stage(), 2.75);
        assert_eq!(step.message_bytes(4), 4 * 2048 * 6144 * 2);
    }
}
