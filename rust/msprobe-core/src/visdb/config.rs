//! The texts of `tb_config` by the kind of file, as msProbe 26.2 writes them.

use crate::text::json;

/// What the file holds, as `tb_config` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// One graph.
    Build,
    /// A comparison of statistics.
    Summary,
    /// A comparison of md5 texts.
    Md5,
    /// A comparison of tensors.
    All,
    /// A comparison of trees alone.
    Structure,
}

impl Task {
    /// The column `graph_type`.
    #[must_use]
    pub fn graph_type(self) -> &'static str {
        match self {
            Task::Build => "build",
            _ => "compare",
        }
    }

    /// The column `task`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Task::Build => "",
            Task::Summary => "summary",
            Task::Md5 => "md5",
            Task::All => "all",
            Task::Structure => "structure",
        }
    }

    /// The task that is stored as `graph_type` and `task`.
    #[must_use]
    pub fn from_texts(graph_type: &str, task: &str) -> Option<Self> {
        [Task::Build, Task::Summary, Task::Md5, Task::All, Task::Structure]
            .into_iter()
            .find(|t| t.graph_type() == graph_type && t.as_str() == task)
    }

    /// The column `node_colors`.
    #[must_use]
    pub fn node_colors(self) -> String {
        match self {
            Task::Build => "null".to_owned(),
            Task::Summary => colors(&[STATISTICS_ERROR; 3]),
            Task::Md5 => colors(&[MD5_EQUAL, MD5_DIFFERENT, MD5_DIFFERENT]),
            Task::All => colors(&[TENSOR_ERROR; 3]),
            Task::Structure => colors(&[]),
        }
    }

    /// The column `tool_tip`; `extra_columns` are the metrics that a user added to a tensor comparison.
    #[must_use]
    pub fn tool_tip(self, extra_columns: &[String]) -> Option<String> {
        match self {
            Task::Build => None,
            Task::Summary => Some(object(SUMMARY_TIPS)),
            Task::Md5 => Some(object(MD5_TIPS)),
            Task::All | Task::Structure => {
                Some(object(TENSOR_COLUMNS.into_iter().chain(extra_columns.iter().map(String::as_str)).map(|c| (c, ""))))
            }
        }
    }
}

const STATISTICS_ERROR: &str = "此节点所有输入输出的统计量误差, 颜色越深代表调试侧与标杆侧的偏差越大";
const TENSOR_ERROR: &str = "此节点所有输入输出的 tensor 误差, 颜色越深代表调试侧与标杆侧的偏差越大";
const MD5_EQUAL: &str = "与标杆相比, 此节点所有输入输出的md5值相同";
const MD5_DIFFERENT: &str = "与标杆相比, 此节点任意输入输出的md5值不同";
const UNMATCHED: &str = "比对过程中节点未匹配上";

/// Color, range of `precision_index` and name of each level of a verdict.
const LEVELS: [(&str, &str, &str); 3] =
    [("#FFFCF3", "[0, 0.3]", "pass"), ("#FFDC7F", "[0.3, 0.6]", "warning"), ("#FF704D", "[0.6, 1]", "error")];

const SUMMARY_TIPS: [(&str, &str); 4] = [
    ("Max diff", "NPU与标杆API统计信息比对，最大值的差值"),
    ("Min diff", "NPU与标杆API统计信息比对，最小值的差值"),
    ("Mean diff", "NPU与标杆API统计信息比对，平均值的差值"),
    ("L2norm diff", "NPU与标杆API统计信息比对，2范数（平方根）的差值"),
];
const MD5_TIPS: [(&str, &str); 1] = [("md5", "数据MD5信息，用于比较两个数据信息是否完全一致")];
const TENSOR_COLUMNS: [&str; 6] =
    ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];

/// The palette; `descriptions` are those of the levels, none when nothing is judged.
fn colors(descriptions: &[&str]) -> String {
    let judged = LEVELS.iter().zip(descriptions).map(|(&(color, value, level), &text)| (color, value, text, level));
    let mut out = Vec::from(b"{");
    for (color, value, text, level) in judged.chain([("#C7C7C7", "[]", UNMATCHED, "unmatched node")]) {
        if out.len() > 1 {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(format!("\"{color}\": {{\"value\": {value}, \"description\": ").as_bytes());
        json::push_string(&mut out, text);
        out.extend_from_slice(format!(", \"accuracy_level\": \"{level}\"}}").as_bytes());
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

/// A JSON object of texts.
fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = Vec::from(b"{");
    for (key, text) in members {
        if out.len() > 1 {
            out.extend_from_slice(b", ");
        }
        json::push_string(&mut out, key);
        out.extend_from_slice(b": ");
        json::push_string(&mut out, text);
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}
