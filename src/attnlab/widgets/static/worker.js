// Heavy work beside the page: a worker made from the parts that are here already, so also from file:// and in
// JupyterLab. What it runs is a part without a DOM whose exports take (given, report):
//
//   // story_job.js                                       // the figure
//   let net;                                              import "./story_job.js"; // comes along, and is not run here
//   export function open({ bytes }) { net = … }           const worker = openWorker("story_job");
//   export async function tell({ n }, report) {           await worker.call("open", { bytes });
//     for (let i = 0; i < n; i++) {                       const job = worker.call("tell", { n: 50 }, { progress });
//       await report(i / n, { word: step(net) });         job.cancel(); // then `await job` throws a Cancelled
//     }                                                   worker.close(); // figure.cleanup(worker.close)
//     return { done: true };
//   }
//
// `report(share, value)` tells the page how far the work is, gives it a turn between two steps, and throws when the
// reader has cancelled. What an export keeps in its module (the net) stays until the worker is closed.
import { source } from "./linker.js";

/** Thrown by a job that was cancelled. */
export class Cancelled extends Error {
  constructor() {
    super("The work was cancelled.");
    this.name = "Cancelled";
  }
}

/** What the worker runs: calls by name, one answer each. `post` sends to the page, `listen` hears it. */
function serve(exports, post, listen) {
  const cancelled = new Set();
  // Messages wait while a job computes: a message to itself lets in those that came before it.
  const breathe = () => new Promise((go) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); go(); };
    port2.postMessage(0);
  });
  listen(async ({ id, name, given, cancel }) => {
    if (cancel) { cancelled.add(id); return; }
    const report = async (share, value = null) => {
      post({ id, share, value });
      await breathe();
      if (cancelled.has(id)) throw Object.assign(new Error("cancelled"), { name: "Cancelled" });
    };
    try {
      post({ id, result: await exports[name](given, report) });
    } catch (error) {
      post({ id, error: { name: error.name, message: error.message } });
    }
  });
}

/** Where a worker is not allowed, the same functions run on the page, between its other tasks. */
function onPage(make) {
  const hear = { page: () => {}, job: () => {} };
  const later = (key) => (message) => { setTimeout(() => hear[key](message)); };
  make((message) => later("page")(message), (callback) => { hear.job = callback; });
  return { post: later("job"), listen: (callback) => { hear.page = callback; }, end: () => {} };
}

function inWorker(part) {
  const glue = `(${serve})(need(${JSON.stringify(part)}), (m) => postMessage(m), ` +
    "(callback) => { onmessage = ({ data }) => callback(data); });";
  const address = URL.createObjectURL(new Blob([source(part), glue], { type: "text/javascript" }));
  const worker = new Worker(address);
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen: (callback, failed) => {
      worker.onmessage = ({ data }) => callback(data);
      worker.onerror = (event) => failed(new Error(event.message || "The worker could not start."));
    },
    end: () => { worker.terminate(); URL.revokeObjectURL(address); },
  };
}

/**
 * A worker for the exports of a part. `call(name, given, { progress, transfer })` is a promise of what the export
 * returns, with a `cancel()`; `progress(share, value)` is called while it works. `fallback` are the exports to run on
 * the page where workers are refused. `close()` ends the worker, whatever it is doing.
 */
export function openWorker(part, { fallback = null } = {}) {
  const waiting = new Map();
  let line, count = 0;
  try {
    line = inWorker(part);
  } catch (error) {
    if (!fallback) throw error;
    line = onPage((post, listen) => serve(fallback, post, listen));
  }
  const settle = (id, how, what) => { waiting.get(id)?.[how](what); waiting.delete(id); };
  const fail = (error) => { for (const id of [...waiting.keys()]) settle(id, "reject", error); };
  line.listen((message) => {
    const { id } = message;
    if (message.error) {
      const { name, message: words } = message.error;
      settle(id, "reject", name === "Cancelled" ? new Cancelled() : Object.assign(new Error(words), { name }));
    } else if ("result" in message) settle(id, "resolve", message.result);
    else waiting.get(id)?.progress?.(message.share, message.value);
  }, fail);
  return {
    call(name, given = {}, { progress = null, transfer = [] } = {}) {
      const id = ++count;
      const job = new Promise((resolve, reject) => waiting.set(id, { resolve, reject, progress }));
      line.post({ id, name, given }, transfer);
      job.cancel = () => line.post({ id, cancel: true }, []);
      return job;
    },
    close() {
      line.end();
      fail(new Cancelled());
    },
  };
}
