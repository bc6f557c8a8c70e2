// Joins the parts of live figures. Python writes each ES module of this folder as one part: its name, the names it
// needs, and a function that makes its exports (attnlab/widgets/linker.py). A part has a scope of its own, in
// JupyterLab as on a static page, so two files may use one private name. This function is also sent to workers.
function linker(parts) {
  const made = new Map();
  const find = (name) => parts.find(([own]) => own === name);

  /** The exports of a part, which is made when it is first needed. */
  function need(name) {
    if (name === "linker") return { source };
    if (!made.has(name)) {
      const part = find(name);
      if (!part) throw new Error(`There is no live figure, and no part of one, called ${name} on this page.`);
      made.set(name, part[2](need));
    }
    return made.get(name);
  }

  /** The text of a script that has `need` for this part and for what it needs: for a worker, made from a Blob. */
  function source(...names) {
    const wanted = new Map();
    const add = (name) => {
      if (name === "linker" || wanted.has(name)) return;
      const [, needs, make] = find(name) ?? [];
      if (!make) throw new Error(`There is no part called ${name} on this page.`);
      wanted.set(name, `[${JSON.stringify(name)}, ${JSON.stringify(needs)}, ${make}]`);
      needs.forEach(add);
    };
    names.forEach(add);
    return `const { need } = (${linker})([\n${[...wanted.values()].join(",\n")}\n]);\n`;
  }

  return { need, source };
}
