// What is written in the playground. It stays with the tab, as the token does: whoever reads
// the documents in between finds it again.

const kept = "troupe.draft";

export const draft = () => sessionStorage.getItem(kept);

export function keepDraft(s) {
  try {
    sessionStorage.setItem(kept, s);
  } catch {
    sessionStorage.removeItem(kept); // larger than a tab may keep, and than any task may be
  }
}
