// The colours that were chosen, before anything is drawn; none chosen: the
// system's. This is no secret, so it may stay.
{
  const chosen = localStorage.getItem("troupe.theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}
