//! Jobs: work that takes longer than a request. Their number is bounded; the oldest ended ones are
//! removed.
use crate::accounts;
use crate::problem::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;
use utoipa::ToSchema;

/// Jobs that are kept.
const MAX_JOBS: usize = 100;
/// Jobs that run at the same time.
const MAX_RUNNING: usize = 4;

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs.
    Running,
    /// It has ended, and has a result.
    Succeeded,
    /// It has failed, and has an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// A job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Identity.
    #[schema(example = "17")]
    pub id: String,
    /// Kind of work.
    #[schema(example = "subscriber-import")]
    pub kind: String,
    /// State.
    pub state: JobState,
    /// Who started it.
    pub by: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Items that are done.
    pub done: u64,
    /// Items in all; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The result so far.
    #[serde(default)]
    pub result: Value,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

struct Entry {
    job: Job,
    task: Option<AbortHandle>,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Entry>,
    last: u64,
}

/// All jobs.
#[derive(Default, Clone)]
pub struct Jobs(Arc<Mutex<State>>);

/// A running job, for its own task.
#[derive(Clone)]
pub struct Running {
    jobs: Jobs,
    id: String,
}

impl Jobs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a job.
    pub fn start<W>(
        &self,
        kind: &str,
        by: &str,
        total: Option<u64>,
        work: impl FnOnce(Running) -> W,
    ) -> Result<Job, Failure>
    where
        W: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let job = {
            let mut state = self.state();
            let running = |entry: &&Entry| entry.job.state == JobState::Running;
            if state.jobs.iter().filter(running).count() >= MAX_RUNNING {
                return Err(Failure::too_many("four jobs run already", 5));
            }
            if state.jobs.len() >= MAX_JOBS {
                let ended = state.jobs.iter().position(|e| e.job.state != JobState::Running);
                ended.map(|at| state.jobs.remove(at));
            }
            state.last += 1;
            let job = Job {
                id: state.last.to_string(),
                kind: kind.into(),
                state: JobState::Running,
                by: by.into(),
                created: accounts::now(),
                done: 0,
                total,
                result: Value::Null,
                error: None,
            };
            state.jobs.push_back(Entry { job: job.clone(), task: None });
            job
        };
        let running = Running { jobs: self.clone(), id: job.id.clone() };
        let (work, ended) = (work(running.clone()), running.clone());
        let task = tokio::spawn(async move {
            let outcome = work.await;
            ended.change(|job| match outcome {
                Ok(result) => (job.state, job.result) = (JobState::Succeeded, result),
                Err(failure) => {
                    job.state = JobState::Failed;
                    let problem = failure.problem();
                    job.error = Some(match &problem.remedy {
                        Some(remedy) => format!("{}: {remedy}", problem.detail),
                        None => problem.detail.clone(),
                    });
                }
            });
        });
        let mut state = self.state();
        if let Some(entry) = state.jobs.iter_mut().find(|entry| entry.job.id == job.id) {
            entry.task = Some(task.abort_handle());
        }
        Ok(job)
    }

    /// A job.
    pub fn get(&self, id: &str) -> Result<Job, Failure> {
        let state = self.state();
        let entry = state.jobs.iter().find(|entry| entry.job.id == id);
        let job = entry.map(|entry| entry.job.clone());
        job.ok_or_else(|| Failure::not_found(format!("there is no job {id}")))
    }

    /// All jobs, the latest first, without their results.
    pub fn list(&self) -> Vec<Job> {
        let without_result = |entry: &Entry| Job { result: Value::Null, ..entry.job.clone() };
        self.state().jobs.iter().rev().map(without_result).collect()
    }

    /// Cancels a running job.
    pub fn cancel(&self, id: &str) -> Result<Job, Failure> {
        let mut state = self.state();
        let entry = state.jobs.iter_mut().find(|entry| entry.job.id == id);
        let entry = entry.ok_or_else(|| Failure::not_found(format!("there is no job {id}")))?;
        if entry.job.state == JobState::Running {
            entry.job.state = JobState::Cancelled;
            if let Some(task) = &entry.task {
                task.abort();
            }
        }
        Ok(entry.job.clone())
    }
}

impl Running {
    /// Changes the job while it runs.
    pub fn change(&self, change: impl FnOnce(&mut Job)) {
        let mut state = self.jobs.state();
        let entry = state.jobs.iter_mut().find(|entry| entry.job.id == self.id);
        if let Some(entry) = entry.filter(|entry| entry.job.state == JobState::Running) {
            change(&mut entry.job);
        }
    }
}
