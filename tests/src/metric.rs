//! Metrics of this process. All cores in the process share them, so tests check lower bounds.

/// The sum of all counters and gauges of this name that have these labels; 0 if there is none.
pub fn metric(name: &str, labels: &[(&str, &str)]) -> f64 {
    let families = prometheus::gather();
    let metrics = families
        .iter()
        .filter(|family| family.name() == name)
        .flat_map(|family| family.get_metric());
    let matching = metrics.filter(|metric| {
        labels.iter().all(|(name, value)| {
            metric.get_label().iter().any(|l| l.name() == *name && l.value() == *value)
        })
    });
    matching.map(|metric| metric.get_counter().get_value() + metric.get_gauge().get_value()).sum()
}

/// The increase of a metric since this value was created.
pub struct MetricDelta<'a> {
    name: &'a str,
    labels: Vec<(&'a str, &'a str)>,
    before: f64,
}

impl<'a> MetricDelta<'a> {
    /// Starts at the current value.
    pub fn of(name: &'a str, labels: &[(&'a str, &'a str)]) -> Self {
        MetricDelta { name, labels: labels.to_vec(), before: metric(name, labels) }
    }

    /// The increase until now.
    pub fn get(&self) -> f64 {
        metric(self.name, &self.labels) - self.before
    }
}
