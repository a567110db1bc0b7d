//! What a curve shows of its classes: a table, a picture, columns.

use stratasim_report::Unit;
use stratasim_report::picture::{Axis, LineChart, Picture, Series};
use stratasim_report::table::{Cell, Table};
use stratasim_report::traffic::{CLASS_METRICS, TrafficResult};

use super::curve::{Curve, CurvePoint};
use super::verdict::mean_and_half_width;

impl CurvePoint {
    /// Mean over seeds of a number of a class; none where no seed has it.
    fn class_number(&self, class: usize, name: &str) -> Option<f64> {
        let of_seed = |result: &TrafficResult| result.classes.get(class)?.number(name);
        let values: Vec<f64> = self.statistics().filter_map(of_seed).collect();
        (!values.is_empty()).then(|| mean_and_half_width(&values).0)
    }
}

impl Curve {
    /// Names of the classes, where there are several.
    fn classes(&self) -> Vec<&str> {
        let first = self.points.iter().find_map(|point| point.statistics().next());
        first.into_iter().flat_map(|result| &result.classes).map(|class| class.name.as_str()).collect()
    }

    /// The table of the classes, a row for each load and class; none where there is one class.
    pub fn class_table(&self) -> Option<Table> {
        let classes = self.classes();
        if classes.is_empty() {
            return None;
        }
        let mut table =
            Table::new(["load", "class"].into_iter().chain(CLASS_METRICS.iter().map(|(_, title, _)| *title)))
                .keyed_by(2);
        for point in &self.points {
            for (class, name) in classes.iter().enumerate() {
                let first: [Cell; 2] = [(point.load, Unit::Count).into(), (*name).into()];
                let numbers = CLASS_METRICS.iter().map(|&(number, _, unit)| {
                    point.class_number(class, number).map(|number| (number, unit)).into()
                });
                table.push(first.into_iter().chain(numbers));
            }
        }
        Some(table)
    }

    /// Mean latency over load, a line for each class. Loads that are not carried are left out.
    pub(super) fn class_latency(&self) -> Option<Picture> {
        let classes = self.classes();
        if classes.is_empty() {
            return None;
        }
        let load = Axis::linear("load, flits per cycle and terminal", Unit::Count);
        let latency = Axis::linear("mean packet latency, cycles", Unit::Count);
        let mut chart = LineChart::new(format!("{}: latency of each class", self.title), load, latency);
        let stable = || self.points.iter().filter(|point| point.carried());
        let series = classes.iter().enumerate().map(|(class, name)| {
            let points = stable()
                .filter_map(|point| Some((point.load, point.class_number(class, "packet_latency_cycles")?)));
            Series::new(*name, points)
        });
        chart.series = series.collect();
        Some(chart.draw())
    }

    /// Names of the columns of classes in the table for programs.
    pub(super) fn class_headings(&self) -> Vec<String> {
        let of_class = |name| CLASS_METRICS.iter().map(move |(number, ..)| format!("{name}: {number}"));
        self.classes().into_iter().flat_map(of_class).collect()
    }

    /// What stands in these columns.
    pub(super) fn class_cells(&self, point: &CurvePoint) -> Vec<Cell> {
        let of_class = |class| {
            CLASS_METRICS.iter().map(move |(name, ..)| {
                point.class_number(class, name).map(|number| (number, Unit::Count)).into()
            })
        };
        (0..self.classes().len()).flat_map(of_class).collect()
    }
}
