// Brings the live figures of a static page to life: no kernel, no network, HTTP or file://.
// Loaded as a classic deferred script (a module with a src is refused on file://), after those that hand over the
// parts of the figures. Python writes linker.js above it.
(function (parts) {
  "use strict";
  const { need } = linker(parts);
  globalThis.attnlabPlace = document.currentScript?.src; // heavy weights are beside this script

  /** The few methods of a Jupyter widget model that a figure uses. */
  class Model {
    constructor(state) { this.state = state; this.listeners = new Map(); }
    get(key) { return this.state[key]; }
    set(key, value) {
      if (this.state[key] === value) return;
      this.state[key] = value;
      this.emit(`change:${key}`);
      this.emit("change");
    }
    emit(event) { for (const callback of [...(this.listeners.get(event) ?? [])]) callback(); }
    on(event, callback) {
      if (!this.listeners.has(event)) this.listeners.set(event, new Set());
      this.listeners.get(event).add(callback);
    }
    off(event, callback) { this.listeners.get(event)?.delete(callback); }
    save_changes() {} // nobody is listening behind a static page
  }

  /** Bytes travel in JSON as {"$bytes": base64}. */
  const revive = (_, value) => {
    if (value === null || typeof value !== "object" || typeof value.$bytes !== "string") return value;
    return new DataView(Uint8Array.from(atob(value.$bytes), (c) => c.charCodeAt(0)).buffer);
  };

  async function mount(place) {
    if (place.dataset.mounted) return;
    place.dataset.mounted = "pending";
    const name = place.dataset.widget;
    // What a reader sees first is there when the page is painted first, so that nothing jumps. All others wait, each
    // for a task of its own: the page stays awake.
    if (place.getBoundingClientRect().top > innerHeight) await new Promise((go) => setTimeout(go));
    const state = JSON.parse(place.querySelector('script[type="application/json"]').textContent, revive);
    const { default: figure } = need(name);
    const el = document.createElement("div");
    const model = new Model(state);
    const fallback = place.querySelector(".al-fallback");
    const dispose = await figure.render({ model, el, fallback }); // a figure may take over what is there
    place.append(el);
    fallback?.remove();
    el.firstElementChild?.figure?.measure?.();
    place.model = model; // for the curious, and for the tests
    place.dispose = () => { dispose?.(); el.remove(); };
    place.dataset.mounted = "yes";
  }

  const start = () => {
    for (const place of document.querySelectorAll("[data-widget]")) {
      mount(place).catch((error) => {
        place.dataset.mounted = "failed";
        console.error(error);
      });
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})((globalThis.attnlabParts ??= []));
