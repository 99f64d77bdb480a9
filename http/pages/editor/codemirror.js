// What the page takes of CodeMirror. ./build makes one module of it.
export { EditorState } from "@codemirror/state";
export {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export {
  HighlightStyle, bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree,
} from "@codemirror/language";
export {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap,
} from "@codemirror/autocomplete";
export { lintGutter, lintKeymap, linter } from "@codemirror/lint";
export { json } from "@codemirror/lang-json";
export { tags } from "@lezer/highlight";
