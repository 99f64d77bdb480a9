// Questions before what cannot be undone, and the one time a token is shown.

import { copy, h } from "./dom.js";

// confirmed asks a question and resolves to the answer.
export function confirmed(question, what, yes) {
  return new Promise((answer) => {
    const dialog = h("dialog", { "aria-labelledby": "question", onclose: () => (answer(dialog.returnValue === "yes"), dialog.remove()) },
      h("div", { class: "stack" }, h("h2", { id: "question" }, question), h("p", { class: "small soft" }, what),
        h("div", { class: "tools" }, h("button", { autofocus: true, onclick: () => dialog.close() }, "Cancel"), h("button", { class: "danger", id: "yes", onclick: () => dialog.close("yes") }, yes))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// showToken shows a token that was just made. It is nowhere else.
export function showToken({ token, account }) {
  const dialog = h("dialog", { "aria-labelledby": "token-title", onclose: () => dialog.remove() },
    h("div", { class: "stack" }, h("h2", { id: "token-title" }, `The new token of ${account}`),
      h("code", { class: "secret", id: "fresh-token" }, token),
      h("p", { class: "note" }, "Copy it now: the service does not store it and cannot show it again."),
      h("div", { class: "tools" }, h("button", { onclick: () => dialog.close() }, "I have copied it"), h("button", { class: "main", autofocus: true, onclick: () => copy(token, "Token") }, "Copy the token"))));
  document.body.append(dialog);
  dialog.showModal();
}
