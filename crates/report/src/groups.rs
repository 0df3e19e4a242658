//! Groups: the flows, or the stations, that one entry of a scenario makes.
//!
//! A group is shown as one: the median over its members, and the band that holds nine tenths of them.

use std::collections::BTreeMap;

/// Members that are shown as one; an entry that makes one has a group of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Position among the groups.
    number: usize,
    /// Name of the entry, or of its only member.
    pub(crate) name: String,
    /// Names of the members, in order of appearance.
    pub(crate) members: Vec<String>,
}

impl Group {
    /// Whether it is the same as another one of the same comparison.
    pub(crate) const fn is(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Whether it has more than one member.
    pub(crate) fn is_many(&self) -> bool {
        self.members.len() > 1
    }

    /// Its name, with the number of its members if there are several.
    pub(crate) fn label(&self) -> String {
        if self.is_many() { format!("{} (×{})", self.name, self.members.len()) } else { self.name.clone() }
    }
}

/// All groups, and the group of each member.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    all: Vec<Group>,
    of: BTreeMap<String, usize>,
    /// The members in order of appearance: summaries name them in the same order.
    order: Vec<(String, usize)>,
}

impl Groups {
    /// Puts together what has the same entry and sort; members are named once, in order of appearance.
    pub(crate) fn new<'a, Sort: Ord + ToString>(
        members: impl Iterator<Item = (&'a str, &'a str, Sort)>,
    ) -> Self {
        let mut groups = Self::default();
        let mut known = BTreeMap::<(&str, Sort), usize>::new();
        let mut sorts = Vec::new();
        for (name, entry, sort) in members {
            if groups.of.contains_key(name) {
                continue;
            }
            let next = groups.all.len();
            let text = sort.to_string();
            let number = *known.entry((entry, sort)).or_insert(next);
            if number == next {
                groups.all.push(Group { number, name: entry.to_owned(), members: Vec::new() });
                sorts.push(text);
            }
            groups.of.insert(name.to_owned(), number);
            groups.order.push((name.to_owned(), number));
            groups.all[number].members.push(name.to_owned());
        }
        // An entry of several sorts is told apart by them.
        let names: Vec<String> = groups.all.iter().map(|group| group.name.clone()).collect();
        for (group, sort) in groups.all.iter_mut().zip(sorts) {
            if let [only] = group.members.as_slice() {
                group.name.clone_from(only);
            } else if names.iter().filter(|name| **name == group.name).count() > 1 {
                group.name = format!("{} {sort}", group.name);
            }
        }
        groups
    }

    pub(crate) fn all(&self) -> &[Group] {
        &self.all
    }

    /// The group of a member.
    pub(crate) fn of(&self, member: &str) -> Option<&Group> {
        self.all.get(*self.of.get(member)?)
    }

    /// Whether the group has this member, which stands at `place` in a summary: in most summaries it needs no look-up there.
    pub(crate) fn has(&self, group: &Group, place: usize, member: &str) -> bool {
        match self.order.get(place) {
            Some((name, number)) if name == member => *number == group.number,
            _ => self.of.get(member) == Some(&group.number),
        }
    }

    /// Names with those of one group together: "call", "all 20 web", "3 of 20 web".
    pub(crate) fn together(&self, names: &[String]) -> Vec<String> {
        let mut counts: Vec<(&Group, usize)> = Vec::new();
        let mut texts = Vec::new();
        for name in names {
            let Some(group) = self.of(name).filter(|group| group.is_many()) else {
                texts.push(name.clone());
                continue;
            };
            match counts.iter_mut().find(|(known, _)| known.number == group.number) {
                Some((_, count)) => *count += 1,
                None => counts.push((group, 1)),
            }
        }
        texts.extend(counts.into_iter().map(|(group, count)| {
            let all = group.members.len();
            if count == all {
                format!("all {all} {}", group.name)
            } else {
                format!("{count} of {all} {}", group.name)
            }
        }));
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(members: &[(&str, &str, &str)]) -> Groups {
        Groups::new(members.iter().map(|(name, entry, sort)| (*name, *entry, (*sort).to_owned())))
    }

    #[test]
    fn members_of_an_entry_are_together_and_others_are_alone() {
        let found = groups(&[("web-1", "web", "tcp"), ("call", "office", "voip"), ("web-2", "web", "tcp")]);
        let labels: Vec<String> = found.all().iter().map(Group::label).collect();
        assert_eq!(labels, ["web (×2)", "call"]);
        assert_eq!(found.of("web-2").map(|group| group.name.as_str()), Some("web"));
        assert_eq!(found.of("tv"), None);
    }

    #[test]
    fn an_entry_of_two_sorts_makes_two_groups() {
        let found =
            groups(&[("a", "lab", "up"), ("b", "lab", "up"), ("c", "lab", "down"), ("d", "lab", "down")]);
        let labels: Vec<String> = found.all().iter().map(Group::label).collect();
        assert_eq!(labels, ["lab up (×2)", "lab down (×2)"]);
    }

    #[test]
    fn names_of_a_group_are_counted() {
        let found = groups(&[
            ("web-1", "web", ""),
            ("web-2", "web", ""),
            ("call", "call", ""),
            ("tv-1", "tv", ""),
            ("tv-2", "tv", ""),
        ]);
        let names = ["call", "web-2", "tv-1", "tv-2"].map(str::to_owned);
        assert_eq!(found.together(&names), ["call", "1 of 2 web", "all 2 tv"]);
    }
}
