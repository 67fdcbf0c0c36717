//! The metrics of this process, which all its cores share: what a test adds to them is not less
//! than it should be.

/// The sum of a metric's values with these labels, by name and value; 0 where there is none.
pub fn metric(name: &str, labels: &[(&str, &str)]) -> f64 {
    let families = prometheus::gather();
    let metrics = families
        .iter()
        .filter(|family| family.name() == name)
        .flat_map(|family| family.get_metric());
    let fits = metrics.filter(|metric| {
        labels.iter().all(|(name, value)| {
            metric.get_label().iter().any(|l| l.name() == *name && l.value() == *value)
        })
    });
    fits.map(|metric| metric.get_counter().get_value() + metric.get_gauge().get_value()).sum()
}

/// How far a metric has grown since this was made.
pub struct Growth<'a> {
    name: &'a str,
    labels: Vec<(&'a str, &'a str)>,
    before: f64,
}

impl<'a> Growth<'a> {
    /// From now on.
    pub fn of(name: &'a str, labels: &[(&'a str, &'a str)]) -> Self {
        Growth { name, labels: labels.to_vec(), before: metric(name, labels) }
    }

    /// Until now.
    pub fn so_far(&self) -> f64 {
        metric(self.name, &self.labels) - self.before
    }
}
