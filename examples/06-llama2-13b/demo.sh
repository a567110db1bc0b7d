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
echo "Simulating one training step on 1,024 accelerators, first without coherent memory, then with it ..."
"$STRATASIM" run "$EXPERIMENT" --quiet $PART --window '12.5 s..14 s' \
    --set topology.kind=hcsim-ethernet --set execution.memory=move-then-compute \
    --json "$OUT/non-coherent.json" --trace "$OUT/non-coherent.perfetto-trace" --picture "$OUT/non-coherent.svg"
"$STRATASIM" run "$EXPERIMENT" --quiet $PART --window '6.5 s..8 s' \
    --json "$OUT/coherent.json" --trace "$OUT/coherent.perfetto-trace" --picture "$OUT/coherent.svg"
echo
"$STRATASIM" report "$OUT/non-coherent.json" "$OUT/coherent.json"
cat <<END

  tables     $STRATASIM report $OUT/coherent.json
  traces     $OUT/non-coherent.perfetto-trace and coherent.perfetto-trace: ten accelerators, the last
             1.5 s of the step; open them in https://ui.perfetto.dev
  pictures   $OUT/non-coherent.svg and coherent.svg: the same as a picture
END
