"""The native flit level beside the reference runs of the paper's traffic, point by point.

    python experiments/complex-load/agreement.py ../shared/ref/flit/seedpaper.jsonl --out results

Each line of the reference is one run of another simulator (one seed): topology, lengths, pattern, load,
cycles of a sample period. Here every point runs with several seeds, the same warm-up (three periods) and as
many periods of sample as the reference took. Mean packet latencies agree when they differ by at most three
standard errors of the seed noise, at the same realised load: both are brought to one load with the slope of
our own curve. The noise of a run is the spread of our seeds and the reference's about their means; where
few seeds happen to lie close together, it is at least the median of the curve, in proportion to the
latency.

Networks that do not carry their load have no mean latency. Where the reference gave up, the verdicts are
compared; where it went on below its load and ours is saturated, too, the accepted loads.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROUTER = "router = { virtual-channels = %s, buffer-flits = %s }"
WARM_UP_PERIODS = 3
LEAST_PERIODS, MOST_PERIODS = 3, 7
FULL = 0.99  # a reference that injected less than this part of its load is saturated, whatever it says
LEAST_LOAD_NOISE = (
    0.005  # seed noise of an accepted load of long packets, from the reference's table of seeds
)
PERIOD_TOLERANCE = 0.05  # the reference stops when three periods change its means by less than this


def arguments(text):
    """The parameters of a reference run: `topo=torus k=8 n=3 ...`."""
    return dict(part.split("=", 1) for part in text.split())


def pattern(text):
    """`localtorus:1,80` and the like as a pattern of ours."""
    kind, _, rest = text.partition(":")
    numbers = [int(number) for number in rest.split(",")] if rest else []
    if kind == "uniform":
        return '{ kind = "uniform-random" }'
    if kind in ("localtorus", "localtree"):
        return f'{{ kind = "local", distance = {numbers[0]}, fraction = {numbers[1] / 100} }}'
    if kind == "hotrate":
        return f'{{ kind = "hot-spot", target = {numbers[0]}, fraction = {numbers[1] / 100} }}'
    if kind in ("fft1", "fft2"):
        phase = "rows" if kind == "fft1" else "columns"
        return f'{{ kind = "fft", phase = "{phase}", columns = {numbers[0]} }}'
    sys.exit(f"unknown pattern {text!r} in the reference")


def lengths(args):
    """`size=16`, or `sizes=4x3,32x1` (flits x weight)."""
    if "size" in args:
        return args["size"]
    parts = [part.split("x") for part in args["sizes"].split(",")]
    return "[" + ", ".join(f"{{ flits = {flits}, weight = {weight} }}" for flits, weight in parts) + "]"


def experiment(args, periods):
    """The experiment file of a case."""
    k, n, period = int(args["k"]), int(args["n"]), int(args["sp"])
    if args["topo"] == "torus":
        topology = f'kind = "torus"\ndimensions = {[k] * n}\nlatency = "2 ns"'
        routing = "dimension-order"
    else:
        topology = f'kind = "k-ary-n-tree"\nk = {k}\nn = {n}\nlatency = "1 ns"'
        routing = "nearest-common-ancestor"
    return f"""
[topology]
{topology}
bandwidth = "32 GB/s"
[network]
kind = "flit"
flit-bytes = "32 B"
{ROUTER % (args["vcs"], args["buf"])}
routing = {{ kind = "{routing}" }}
[traffic]
flits = {lengths(args)}
injection = {{ kind = "{"poisson" if args["poisson"] == "1" else "bernoulli"}" }}
pattern = {pattern(args.get("traffic", "uniform"))}
to-self = true
measure = {{ window = {period}, warm-up = {WARM_UP_PERIODS * period}, windows = {periods}, \
most-windows = {periods}, drain-when-saturated = true, drain = {100 * period} }}
"""


def run(stratasim, args, periods, loads, seeds):
    """Statistics of every seed, by load."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "case.toml")
        file.write_text(experiment(args, periods))
        listed = ",".join(str(load) for load in loads)
        command = [stratasim, "traffic", str(file), "--load", listed, "--seeds", str(seeds), "--quiet"]
        subprocess.run([*command, "--out", folder + "/out"], check=True)
        curve = json.loads(next(pathlib.Path(folder, "out").glob("*.json")).read_text())
    return {
        point["load_flits_per_cycle"]: [one["traffic"] for one in point["runs"]] for point in curve["points"]
    }


def periods_by_rule(series):
    """After how many periods the reference's rule ends the sample of such a run."""
    sample = series[WARM_UP_PERIODS:]
    packets = total = accepted = converged = 0
    before = None
    for count, window in enumerate(sample, 1):
        share = window["accepted_flits_per_cycle"]
        packets, accepted = packets + share, accepted + share
        # nothing where no packet arrived
        total += share * (window["packet_latency_cycles"] or 0.0)
        now = (total / max(packets, 1e-9), accepted / count)
        if before:
            still = all(abs(a - b) <= PERIOD_TOLERANCE * abs(a) for a, b in zip(now, before, strict=True))
            converged = converged + 1 if still else 0
        elif count == 1:
            last = series[WARM_UP_PERIODS - 1]
            still = abs(now[0] - (last["packet_latency_cycles"] or 0.0)) <= PERIOD_TOLERANCE * now[0]
            converged = 1 if still else 0
        before = now
        if converged >= 3:
            return max(count, LEAST_PERIODS)
    return MOST_PERIODS


def periods_of(lines, args):
    """How many periods of sample the reference took at a load; `None` where its drain hides that."""
    period = int(args["sp"])
    found = []
    for line in lines:
        if line["verdict"] != "stable":
            return None
        if line["plat"] > 0.3 * period:
            return None
        found.append(line["total_cycles"] // period - WARM_UP_PERIODS)
    return min(max(round(statistics.median(found)), LEAST_PERIODS), MOST_PERIODS)


def all_runs(stratasim, args, points, seeds):
    """Our runs of a curve, each load with its number of periods."""
    groups = collections.defaultdict(list)
    unclear = []
    for load, lines in points.items():
        periods = periods_of(lines, args)
        (unclear if periods is None else groups[periods]).append(load)
    if unclear:
        for load, ours in run(stratasim, args, MOST_PERIODS, unclear, 1).items():
            groups[periods_by_rule(ours[0]["series"])].append(load)
    found = {}
    for periods, loads in sorted(groups.items()):
        found.update(run(stratasim, args, periods, loads, seeds))
    return dict(sorted(found.items()))


def essence(one):
    """What is compared."""
    names = ("packet_latency_cycles", "network_latency_cycles", "hops", "saturated")
    loads = ("offered_flits_per_cycle", "injected_flits_per_cycle", "accepted_flits_per_cycle")
    return {name: one[name] for name in names + loads}


def latency(one):
    """Mean latency of a run's packets in cycles."""
    return one["packet_latency_cycles"]["mean"]


def slopes(ours):
    """Cycles of latency per unit of load at every point of a curve, from its neighbours."""
    places = [
        (
            statistics.fmean(one["injected_flits_per_cycle"] for one in runs),
            statistics.fmean(map(latency, runs)),
        )
        for runs in ours.values()
    ]
    # a curve bends upwards: a saturated neighbour would make every slope too steep
    full = [2 * sum(one["saturated"] for one in runs) >= len(runs) for runs in ours.values()]
    found = {}
    for at, load in enumerate(ours):
        last = at + 1 if at + 1 < len(places) and not full[at + 1] else at
        low, high = places[max(at - 1, 0)], places[last]
        found[load] = (high[1] - low[1]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
    return found


def accepted(lines, runs):
    """Accepted loads of a point at which neither network carries what is offered."""
    theirs = [line["acc_flit"] for line in lines]
    own = [one["accepted_flits_per_cycle"] for one in runs]
    spread = [v - statistics.fmean(own) for v in own]
    noise = max(math.sqrt(sum(r * r for r in spread) / max(len(own) - 1, 1)), LEAST_LOAD_NOISE * own[0])
    found = {"kind": "accepted", "ours": statistics.fmean(own), "theirs": statistics.fmean(theirs)}
    found["error"] = noise * math.sqrt(1 / len(own) + 1 / len(theirs))
    found["off"] = (found["ours"] - found["theirs"]) / found["error"]
    return found | {"agrees": abs(found["off"]) <= 3.0}


def moved(pairs, load, slope):
    """Latencies measured near a load, along the curve to that load."""
    return [value - slope * (found - load) for value, found in pairs]


def compare(case, points, ours):
    """One row for each load of a curve."""
    slope = slopes(ours)
    rows = []
    for load, lines in points.items():
        runs = ours[load]
        saturated = 2 * sum(one["saturated"] for one in runs) >= len(runs)
        unstable = sum(line["verdict"] != "stable" for line in lines)
        row = {"case": case, "load": load, "lines": len(lines), "seeds": len(runs), "saturated": saturated}
        row["hops"] = statistics.fmean(one["hops"]["mean"] for one in runs)
        if unstable:
            row |= {"kind": "verdict", "agrees": saturated}
            rows.append(row)
            continue
        if saturated and statistics.fmean(line["inj_flit"] for line in lines) < FULL * load:
            rows.append(row | accepted(lines, runs))
            continue
        theirs = [(line["plat"], line["inj_flit"]) for line in lines]
        own = [(latency(one), one["injected_flits_per_cycle"]) for one in runs]
        common = statistics.fmean(load for _, load in own)
        theirs, own = (moved(pairs, common, slope[load]) for pairs in (theirs, own))
        residuals = [v - statistics.fmean(own) for v in own]
        freedom = len(own) - 1
        if len(theirs) > 1:
            residuals += [v - statistics.fmean(theirs) for v in theirs]
            freedom += len(theirs) - 1
        row |= {
            "kind": "latency",
            "ours": statistics.fmean(own),
            "theirs": statistics.fmean(theirs),
            "deviation": math.sqrt(sum(r * r for r in residuals) / max(freedom, 1)),
            "their_hops": statistics.fmean(line["hops"] for line in lines),
        }
        rows.append(row)
    usual = [row["deviation"] / row["ours"] for row in rows if row["kind"] == "latency"]
    for row in rows:
        if row["kind"] == "latency":
            noise = max(row["deviation"], statistics.median(usual) * row["ours"])
            row["error"] = noise * math.sqrt(1 / row["seeds"] + 1 / row["lines"])
            row["off"] = (row["ours"] - row["theirs"]) / row["error"]
            row["agrees"] = abs(row["off"]) <= 3.0
    return rows


def main():
    """Compare every case that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("--stratasim", default="stratasim")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of a point on 512 nodes")
    parser.add_argument("--large-seeds", type=int, default=2, help="seeds of a point on 4,096 nodes")
    parser.add_argument("--only", default="", help="cases whose names match this expression")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for our runs, which are not made twice")
    parser.add_argument("--out", type=pathlib.Path, help="file for all rows, JSON")
    options = parser.parse_args()
    if min(options.seeds, options.large_seeds) < 2:
        parser.error("one seed says nothing of the noise: at least 2 are needed")
    cases = collections.OrderedDict()
    for text in options.reference.read_text().splitlines():
        line = json.loads(text)
        if re.search(options.only, line["case"]):
            cases.setdefault(line["case"], {}).setdefault(line["load"], []).append(line)
    rows = []
    for case, points in cases.items():
        args = arguments(next(iter(points.values()))[0]["args"])
        large = int(args["k"]) ** int(args["n"]) > 1000
        seeds = options.large_seeds if large else options.seeds
        kept = options.keep / f"{case}.json" if options.keep else None
        if kept and kept.exists():
            ours = {float(load): runs for load, runs in json.loads(kept.read_text()).items()}
        else:
            ours = all_runs(options.stratasim, args, points, seeds)
        if kept:
            options.keep.mkdir(parents=True, exist_ok=True)
            essences = {str(load): [essence(one) for one in runs] for load, runs in ours.items()}
            kept.write_text(json.dumps(essences))
        found = compare(case, dict(sorted(points.items())), ours)
        rows += found
        wrong = [row for row in found if not row["agrees"]]
        print(f"{case}: {len(found) - len(wrong)} of {len(found)} points agree", flush=True)
        for row in wrong:
            if row["kind"] == "verdict":
                print(f"    {row['load']}: saturated in the reference, not here")
            else:
                both = f"{row['ours']:.5g} here, {row['theirs']:.5g} there, {row['off']:+.1f} errors"
                print(f"    {row['load']}, {row['kind']}: {both}")
    agreeing = sum(row["lines"] for row in rows if row["agrees"])
    print(f"{agreeing} of {sum(row['lines'] for row in rows)} lines of the reference agree")
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["agrees"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
