//! A dump that was changed: nodes deleted, inserted, renamed, re-counted and wrapped.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use msprobe_core::name::NodeKind;
use serde_json::{json, Map, Value};

/// Numbers that look random and are the same in every run (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.throw() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// A node as the files hold it.
#[derive(Clone)]
pub struct Record {
    /// Its name in the dump that was not touched; `None` for a foreign node.
    pub origin: Option<String>,
    pub name: String,
    /// `None`: not in construct.json. Inner `None`: null.
    #[allow(clippy::option_option)]
    pub parent: Option<Option<String>>,
    pub entry: Option<Value>,
}

/// One rank, taken apart.
#[derive(Clone)]
pub struct Dump {
    pub records: Vec<Record>,
    framework: Value,
    /// Micro steps of construct.json, by original name.
    micro_steps: Option<(Value, HashMap<String, Value>)>,
}

impl Dump {
    pub fn read(folder: &Path) -> Option<Dump> {
        let read = |name: &str| -> Option<Map<String, Value>> {
            let text = std::fs::read_to_string(folder.join(name)).ok()?;
            let text = text.replace("-Infinity", "0").replace("Infinity", "0").replace("NaN", "0");
            serde_json::from_str(&text).ok()
        };
        let (mut dump, mut construct) = (read("dump.json")?, read("construct.json")?);
        let mut data = match dump.remove("data") {
            Some(Value::Object(data)) => data,
            _ => Map::new(),
        };
        let number = construct.remove("megatron_micro_step_number");
        let mut steps = HashMap::new();
        let mut records: Vec<Record> = Vec::new();
        for (name, value) in construct {
            let parent = match &value {
                Value::Array(pair) => {
                    steps.insert(name.clone(), pair[1].clone());
                    pair[0].as_str().map(str::to_owned)
                }
                other => other.as_str().map(str::to_owned),
            };
            let entry = data.remove(&name);
            records.push(Record { origin: Some(name.clone()), name, parent: Some(parent.filter(|parent| !parent.is_empty())), entry });
        }
        let rest = data.into_iter().map(|(name, entry)| Record { origin: Some(name.clone()), name, parent: None, entry: Some(entry) });
        records.extend(rest);
        let framework = dump.remove("framework").unwrap_or(Value::Null);
        Some(Dump { records, framework, micro_steps: number.map(|number| (number, steps)) })
    }

    pub fn write(&self, folder: &Path) {
        let mut construct = Map::new();
        let mut data = Map::new();
        if let Some((number, _)) = &self.micro_steps {
            construct.insert("megatron_micro_step_number".to_owned(), number.clone());
        }
        for record in &self.records {
            if let Some(parent) = &record.parent {
                let step = self.micro_steps.as_ref().map(|(_, steps)| record.origin.as_ref().and_then(|origin| steps.get(origin)));
                let value = match step {
                    Some(step) => json!([parent, step.cloned().unwrap_or(json!(0))]),
                    None => json!(parent),
                };
                construct.insert(record.name.clone(), value);
            }
            if let Some(entry) = &record.entry {
                data.insert(record.name.clone(), entry.clone());
            }
        }
        let dump = json!({"task": "statistics", "level": "mix", "framework": self.framework, "data": data});
        std::fs::write(folder.join("dump.json"), dump.to_string()).unwrap();
        std::fs::write(folder.join("construct.json"), Value::Object(construct).to_string()).unwrap();
        std::fs::write(folder.join("stack.json"), "{}").unwrap();
    }

    /// The dump after all changes.
    pub fn changed(&self, dice: &mut Dice) -> Dump {
        let mut changed = self.clone();
        changed.delete(dice);
        if changed.records.iter().any(|record| record.parent.is_some()) {
            changed.insert(dice);
            changed.rename(dice);
            changed.shift();
            changed.wrap(dice);
        }
        changed
    }

    fn rename_all(&mut self, rename: impl Fn(&str) -> String) {
        for record in &mut self.records {
            record.name = rename(&record.name);
            if let Some(Some(parent)) = &mut record.parent {
                *parent = rename(parent);
            }
        }
    }

    /// Deletes 5 % of the nodes. What lay in them lies in their parent then.
    fn delete(&mut self, dice: &mut Dice) {
        let gone: HashMap<String, Option<String>> =
            self.records.iter().filter(|_| dice.one_in(20)).map(|record| (record.name.clone(), record.parent.clone().flatten())).collect();
        self.records.retain(|record| !gone.contains_key(&record.name));
        for record in &mut self.records {
            for _ in 0..gone.len() {
                let Some(Some(above)) = record.parent.as_ref().map(|parent| parent.as_ref().and_then(|parent| gone.get(parent))) else {
                    break;
                };
                record.parent = Some(above.clone());
            }
        }
    }

    /// Inserts 5 % foreign nodes beside others.
    fn insert(&mut self, dice: &mut Dice) {
        for nth in 0..self.records.len().div_ceil(20) {
            let at = dice.below(self.records.len());
            let Some(parent) = self.records[at].parent.clone() else { continue };
            let tensor = json!({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [97, nth + 1000]});
            let direction = if dice.one_in(2) { "forward" } else { "backward" };
            let (name, entry) = if dice.one_in(2) {
                (format!("Torch.foreign{}.{nth}.{direction}", nth % 7), json!({"input_args": [tensor], "output": [tensor]}))
            } else {
                let entry = json!({"input_args": [tensor], "parameters": {"weight": tensor}, "output": [tensor]});
                (format!("Module.foreign{nth}.Foreign{}.{direction}.0", nth % 5), entry)
            };
            self.records.insert(at, Record { origin: None, name, parent: Some(parent), entry: Some(entry) });
        }
    }

    /// Paths of all modules, without `Module` and class.
    fn module_paths(&self) -> Vec<String> {
        let paths: BTreeSet<String> = self.records.iter().filter_map(|record| Some(module_parts(&record.name)?.1.join("."))).collect();
        paths.into_iter().collect()
    }

    /// Renames 5 % of the modules: their attribute, with it in the names of all below, or their class.
    fn rename(&mut self, dice: &mut Dice) {
        for path in self.module_paths() {
            if !dice.one_in(20) {
                continue;
            }
            let path: Vec<&str> = path.split('.').collect();
            let attribute = dice.one_in(2);
            self.rename_all(|name| {
                let Some((first, own, rest)) = module_parts(name) else { return name.to_owned() };
                let mut own: Vec<String> = own.iter().map(|&part| part.to_owned()).collect();
                let mut rest: Vec<String> = rest.iter().map(|&part| part.to_owned()).collect();
                if attribute && own.len() >= path.len() && own.iter().zip(&path).all(|(a, b)| a == b) {
                    own[path.len() - 1].push_str("_new");
                } else if !attribute && own == path {
                    rest[0].push_str("New");
                }
                [vec![first.to_owned()], own, rest].concat().join(".")
            });
        }
    }

    /// Adds something to every call number.
    fn shift(&mut self) {
        self.rename_all(|name| {
            let mut parts: Vec<String> = name.split('.').map(str::to_owned).collect();
            let count = parts.len();
            let at = match NodeKind::of(name) {
                NodeKind::Api if count >= 3 => count - 2,
                _ if count >= 3 && ["forward", "backward"].contains(&parts[count - 2].as_str()) => count - 1,
                _ => return name.to_owned(),
            };
            if let Ok(number) = parts[at].parse::<u64>() {
                parts[at] = (number + 7).to_string();
            }
            parts.join(".")
        });
    }

    /// Puts one module into a wrapper, which takes its place and its path.
    fn wrap(&mut self, dice: &mut Dice) {
        let paths = self.module_paths();
        if paths.is_empty() {
            return;
        }
        let path = paths[dice.below(paths.len())].clone();
        let path: Vec<&str> = path.split('.').collect();
        let inner = |name: &str| match module_parts(name) {
            Some((first, own, rest)) if own.starts_with(&path) => {
                [&[first], &own[..path.len()], &["inner"], &own[path.len()..], &rest].concat().join(".")
            }
            _ => name.to_owned(),
        };
        self.rename_all(inner);
        let inner_path: Vec<&str> = [&path[..], &["inner"]].concat();
        let mut records = Vec::with_capacity(self.records.len());
        for mut record in std::mem::take(&mut self.records) {
            let wrapper = match module_parts(&record.name) {
                Some((first, own, rest)) if own == inner_path && rest[1] != "parameters_grad" && record.parent.is_some() => {
                    Some([&[first], &path[..], &["Wrapper"], &rest[1..]].concat().join("."))
                }
                _ => None,
            };
            let Some(wrapper) = wrapper else {
                records.push(record);
                continue;
            };
            let parent = record.parent.replace(Some(wrapper.clone()));
            records.push(record);
            records.push(Record { origin: None, name: wrapper, parent, entry: None });
        }
        self.records = records;
    }
}

/// `Module` or `Cell`, the path, and class, direction and number of a module's name.
pub fn module_parts(name: &str) -> Option<(&str, Vec<&str>, Vec<&str>)> {
    let parts: Vec<&str> = name.split('.').collect();
    if !["Module", "Cell"].contains(parts.first()?) {
        return None;
    }
    let unnumbered = parts.last() == Some(&"parameters_grad");
    let behind = if unnumbered { 2 } else { 3 };
    let told = ["forward", "backward", "parameters_grad"].contains(parts.get(parts.len().checked_sub(2)?)?) || unnumbered;
    let end = parts.len().checked_sub(behind)?;
    (told && end > 1).then(|| (parts[0], parts[1..end].to_vec(), parts[end..].to_vec()))
}
