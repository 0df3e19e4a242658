//! Declaration of the keys of a scenario: names for the reader, words for the reference.

/// A key as its table declares it. The reader refuses others; the reference page has a row of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Default and range, in Markdown.
    pub(super) values: &'static str,
    meaning: &'static str,
    /// First cell of its row; empty for the name alone.
    pub(super) label: &'static str,
}

/// A key with the words of its row: default and range, meaning.
pub(super) const fn key(name: &'static str, values: &'static str, meaning: &'static str) -> Key {
    Key { name, values, meaning, label: "" }
}

/// A key without a row: the reference has a section of its own for it.
pub(super) const fn table(name: &'static str) -> Key {
    key(name, "", "")
}

impl Key {
    /// The same with another first cell of its row.
    pub(super) const fn labelled(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// Its row of the reference; `None` for a table.
    pub(super) fn row(&self) -> Option<String> {
        let label = if self.label.is_empty() { format!("`{}`", self.name) } else { self.label.to_owned() };
        let row = format!("| {label} | {} | {} |\n", self.values, self.meaning).replace("|  |", "| |");
        (!self.values.is_empty() || !self.meaning.is_empty()).then_some(row)
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.name
    }
}
