#!/bin/sh
# One training step of LLaMA2-13B on 1,024 accelerators, without and with coherent memory.
#
#   STRATASIM  the command (default: stratasim)
#   OUT        folder for results (default: results/demo)
set -eu

STRATASIM=${STRATASIM:-stratasim}
OUT=${OUT:-results/demo}
EXPERIMENT=$(dirname "$0")/experiment.toml
# a trace of all ranks and the whole step would be too large to look at
PART='--ranks 0-7,128,1023'

mkdir -p "$OUT"
echo "One training step on 1,024 accelerators, without and with coherent memory:"
"$STRATASIM" run "$EXPERIMENT" --quiet $PART --window '9.8 s..10.5 s' \
    --set topology.kind=hcsim-ethernet --set execution.memory=move-then-compute \
    --json "$OUT/non-coherent.json" --trace "$OUT/non-coherent.perfetto-trace" --picture "$OUT/non-coherent.svg"
"$STRATASIM" run "$EXPERIMENT" --quiet $PART --window '7 s..8 s' \
    --json "$OUT/coherent.json" --trace "$OUT/coherent.perfetto-trace" --picture "$OUT/coherent.svg"
echo
"$STRATASIM" report "$OUT/non-coherent.json" "$OUT/coherent.json"
cat <<END

In $OUT:
  non-coherent.json, coherent.json              the results; stratasim report prints the tables
  non-coherent.svg, coherent.svg                ten accelerators as the backward pass ends
  non-coherent.perfetto-trace, coherent.perfetto-trace
                                                the same, every task: https://ui.perfetto.dev
END
