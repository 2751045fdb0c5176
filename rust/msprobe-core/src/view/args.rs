//! The parameters of one question, checked by name.

use super::error::ViewError;

/// Name and value pairs as they stand in the address.
#[derive(Debug, Default)]
pub(crate) struct Args<'a>(pub(crate) &'a [(String, String)]);

impl Args<'_> {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, ViewError> {
        self.text(name).ok_or_else(|| bad(name, "is missing"))
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, ViewError> {
        self.text(name).map(|value| value.parse().map_err(|_| bad(name, "is no whole number"))).transpose()
    }

    /// A count between 0 and `most`.
    pub(crate) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, ViewError> {
        match self.integer(name)? {
            None => Ok(default),
            Some(value) => usize::try_from(value).map(|value| value.min(most)).map_err(|_| bad(name, "is negative")),
        }
    }

    /// A micro step; -1 and absence mean all.
    pub(crate) fn micro(&self) -> Result<Option<u32>, ViewError> {
        match self.integer("micro")? {
            None | Some(-1) => Ok(None),
            Some(value) => u32::try_from(value).map(Some).map_err(|_| bad("micro", "is out of range")),
        }
    }

    pub(crate) fn side(&self) -> Result<usize, ViewError> {
        match self.text("side") {
            None | Some("target") => Ok(0),
            Some("golden") => Ok(1),
            Some(_) => Err(bad("side", "is neither target nor golden")),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("1")
    }

    /// Row numbers separated by commas.
    pub(crate) fn integers(&self, name: &str, most: usize) -> Result<Vec<i64>, ViewError> {
        let values: Result<Vec<i64>, _> = self.needed(name)?.split(',').map(str::parse).collect();
        let values = values.map_err(|_| bad(name, "is no list of whole numbers"))?;
        if values.len() > most {
            return Err(bad(name, "has too many entries"));
        }
        Ok(values)
    }
}

pub(crate) fn bad(name: &str, reason: &str) -> ViewError {
    ViewError::Parameter { name: name.to_owned(), reason: reason.to_owned() }
}
