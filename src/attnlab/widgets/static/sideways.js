// What is wider than its place scrolls, says so, and follows the column the reader is at.

/**
 * `place` scrolls sideways: its edges fade where more lies beyond them (`data-more`: left, right), and `words`, if
 * given, is shown while anything does. `see(left, right)` brings that stretch, in pixels of the content, into view,
 * with some room around it; what is in view already stays where it is. Call `paint()` after the content has changed.
 */
export function sideways(figure, place, { words = null, room = 40 } = {}) {
  place.classList.add("al-sideways");
  function paint() {
    const beyond = place.scrollWidth - place.clientWidth;
    const left = place.scrollLeft > 4, right = place.scrollLeft < beyond - 4;
    place.dataset.more = [left && "left", right && "right"].filter(Boolean).join(" ");
    if (words) words.hidden = beyond <= 4;
  }
  figure.listen(place, "scroll", paint, { passive: true });
  function see(left, right) {
    const from = place.scrollLeft, to = from + place.clientWidth;
    if (right + room > to) place.scrollLeft = Math.max(0, Math.min(left - room, right + room - place.clientWidth));
    else if (left - room < from) place.scrollLeft = Math.max(0, left - room);
    paint();
  }
  return { paint, see };
}
