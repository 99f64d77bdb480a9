// The editor for tasks: CodeMirror, with completion from the schema and faults
// from the service.

import {
  EditorState, EditorView, HighlightStyle, autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, completionKeymap, defaultKeymap,
  drawSelection, foldGutter, foldKeymap, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, history, historyKeymap, indentOnInput, indentUnit,
  json, keymap, lineNumbers, lintGutter, lintKeymap, linter, syntaxHighlighting, tags,
} from "./vendor/codemirror.js";
import { byte, cursor, range } from "./places.js";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--link)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--sheet)", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--sheet)", color: "var(--soft)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--sunk) 60%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--sunk)", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--link-wash)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--link-wash)", outline: "1px solid var(--link)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", overflow: "hidden" },
  // What is said of the chosen one stands in this box, beside it.
  ".cm-tooltip.cm-tooltip-autocomplete": { overflow: "visible" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px", maxHeight: "16em", borderRadius: "5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--fill)", color: "var(--on-fill)" },
  ".cm-completionDetail": { color: "inherit", opacity: ".8", fontStyle: "normal" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px", maxWidth: "320px", fontSize: "13px", fontFamily: "system-ui, sans-serif" },
  // In place of pictures in data: addresses, which the page's policy does not let in.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textDecorationSkipInk: "none" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)", textDecorationSkipInk: "none" },
  ".cm-lintRange-active": { backgroundColor: "var(--warn-wash)" },
  ".cm-lint-marker": { width: "10px", height: "10px", margin: "5px 2px" },
  ".cm-lint-marker-error": { content: "none", backgroundColor: "var(--bad)", borderRadius: "50%" },
  ".cm-lint-marker-warning": { content: "none", backgroundColor: "var(--warn)", borderRadius: "2px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", fontSize: "13px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunk)", color: "var(--soft)", border: "1px solid var(--line)" },
});

// editor makes one in parent. check(text) resolves to what the service says of a
// text; onChange hears of each change, onCheck of each answer.
export function editor(parent, { doc, nonce, schema, check, onChange, onCheck, onRun }) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of({ "aria-label": "Task, as JSON. Press Escape, then Tab to leave the editor", spellcheck: "false" }),
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), foldGutter(), drawSelection(), indentOnInput(), indentUnit.of("  "),
        bracketMatching(), closeBrackets(), highlightActiveLine(), json(), syntaxHighlighting(colours), look, EditorView.lineWrapping,
        autocompletion({ override: [(context) => complete(schema(), context)], icons: false }),
        lintGutter(),
        linter(async (v) => {
          const said = await check(v.state.doc.toString());
          onCheck(said);
          return said ? marks(v.state, said) : [];
        }, { delay: 300 }),
        keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }, ...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
        EditorView.domEventHandlers({ beforeinput: typed }),
        EditorView.updateListener.of((u) => u.docChanged && onChange(u.state.doc.toString())),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
    },
    // go puts the cursor where a JSON Pointer leads.
    go(pointer) {
      const { from } = range(view.state, pointer);
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    line: (pointer) => view.state.doc.lineAt(range(view.state, pointer).from).number,
    end: () => view.destroy(),
  };
}

// typed puts typed text in itself. If Chromium did, it would keep the look of a
// selection that is written over as an inline style, which the page's policy refuses.
// Composed texts, and those of other sorts of input, stay with the browser.
function typed(e, view) {
  if (e.inputType !== "insertText" || e.data == null || e.isComposing || view.composing) return false;
  const { from, to } = view.state.selection.main;
  const insert = () => view.state.update(view.state.replaceSelection(e.data), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, e.data, insert))) view.dispatch(insert());
  e.preventDefault();
  return true;
}

function marks(state, { faults, warnings }) {
  const text = state.doc.toString();
  const mark = (severity) => (f) => {
    const broken = f.message.match(/not valid JSON.* at byte (\d+)/);
    if (!broken) return { ...range(state, f.path), severity, message: f.message };
    const at = Math.min(byte(text, Number(broken[1])), text.length);
    return { from: Math.max(0, at - 1), to: Math.max(at, 1), severity, message: f.message };
  };
  return [...faults.map(mark("error")), ...warnings.map(mark("warning"))];
}

const short = (s) => (s.length > 60 ? s.slice(0, 59) + "…" : s);

// complete offers what may stand at the cursor.
function complete(schema, context) {
  const at = schema && cursor(context.state, context.pos);
  if (!at || (!context.explicit && at.from === at.to && at.kind === "key")) return null;
  const put = (text, chosen) => (view, _, from, to) => {
    const [a, b] = chosen ?? [text.length, text.length];
    view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + a, head: from + b }, userEvent: "input.complete" });
  };
  const options = at.kind === "key"
    ? schema.keys(at.path, at.names).map((k) => {
        const name = JSON.stringify(k.name), value = JSON.stringify(k.value);
        // What is in quotes or brackets is selected, to be written over.
        const inner = value.length > 1 && /^["[{]/.test(value) ? 1 : 0;
        const start = name.length + 2;
        return {
          label: k.name, info: k.about ? `${k.about}\n${k.doc}` : k.doc, detail: short(k.doc).split(". ")[0], boost: k.name === "options" ? -1 : 0,
          apply: at.follows ? put(name) : put(`${name}: ${value}`, [start + inner, start + value.length - inner]),
        };
      })
    : schema.values(at.path).map((v) => ({ label: v.label, info: v.doc, apply: put(JSON.stringify(v.value)) }));
  if (!options.length) return null;
  // The quotation mark that was typed is no part of a name.
  const quoted = context.state.sliceDoc(at.from, at.from + 1) === '"';
  return {
    from: at.from, to: at.to, filter: false,
    options: narrow(options, context.state.sliceDoc(at.from + (quoted ? 1 : 0), context.pos)),
  };
}

// narrow keeps what begins with, or else contains, what was typed.
function narrow(options, typed) {
  const word = typed.toLowerCase();
  const bare = (o) => o.label.replaceAll('"', "").toLowerCase();
  const begins = options.filter((o) => bare(o).startsWith(word));
  return [...begins, ...options.filter((o) => !begins.includes(o) && bare(o).includes(word))];
}
