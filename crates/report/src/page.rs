//! x
pub struct Page;
pub(crate) fn escape_html(t: &str) -> String {
    t.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
pub(crate) fn escape_markdown(t: &str) -> String {
    t.replace('|', "\\|")
}
