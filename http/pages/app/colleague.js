// What somebody sees who was given a link: one live picture, and nothing else.
// The link's secret stands behind the # of the address, which browsers send to
// nobody; it is taken out of the address at once.

import { fill, h, text } from "./dom.js";
import { livePicture } from "./live.js";

const main = document.getElementById("main");
const [object, link] = location.hash.slice(1).split("/").map(decodeURIComponent);
history.replaceState(null, "", location.pathname);

const said = h("p", { class: "soft small", role: "status" }, "You can watch, and do nothing else.");
if (!object || !link) {
  fill(main, h("div", { class: "empty", role: "alert" }, h("strong", {}, "This link does not show a live picture"),
    "Open the complete link, with the part after the #. If you reloaded this page, open the link again from the message that has it."));
} else {
  fill(main, h("h1", {}, "Live picture"), said, livePicture(object, {
    signal: new AbortController().signal, label: "Live picture of a browser", secret: () => link, onEnd: (why) => text(said, why),
  }));
}
