//! Backups and restores of a core with files, in one process or in several.
use super::access::Files;
use martlet::backups;
use martlet_oam::AccessError;
use martlet_oam::backups::{Backup, Backups, RestorePreview, Restores, StagedRestore};
use std::path::Path;

impl Backups for Files {
    fn make(&self, folder: &Path, by: &str) -> Result<Backup, AccessError> {
        Ok(backups::copy(&self.config, self.file.as_deref(), folder, Some(by))?)
    }

    fn list(&self) -> Result<Vec<Backup>, AccessError> {
        Ok(backups::list(&self.config)?)
    }

    fn preview(&self, folder: &Path) -> Result<RestorePreview, AccessError> {
        Ok(backups::preview(&self.config, folder)?)
    }

    fn stage(&self, folder: &Path, by: &str) -> Result<StagedRestore, AccessError> {
        Ok(backups::stage(&self.config, folder, by)?)
    }

    fn withdraw(&self, by: &str) -> Result<Option<StagedRestore>, AccessError> {
        Ok(backups::withdraw(&self.config, by)?)
    }

    fn restores(&self) -> Result<Restores, AccessError> {
        Ok(backups::state(&self.config)?)
    }

    fn recorded(&self) -> Result<(), AccessError> {
        Ok(backups::recorded(&self.config)?)
    }

    fn acknowledge(&self, by: &str) -> Result<(), AccessError> {
        Ok(backups::acknowledge(&self.config, by)?)
    }
}
