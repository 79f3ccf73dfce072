"use strict";
function element(name, ...parts) {
  const made = document.createElement(name);
  made.append(...parts);
  return made;
}

function table(fields) {
  return element("table", ...Object.entries(fields).map(([name, field]) =>
    element("tr", element("th", name), element("td", field.description ?? ""))));
}

fetch("openapi.json").then((answer) => answer.json()).then((about) => {
  document.getElementById("version").append(about.info.version);
  document.getElementById("key").hidden = !about.components.securitySchemes;
  for (const [path, methods] of Object.entries(about.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const section = element("section", element("h2", element("span", method.toUpperCase()), " ", path), element("p", operation.summary));
      if (operation.requestBody) {
        const name = operation.requestBody.content["application/json"].schema.$ref.split("/").pop();
        const schema = about.components.schemas[name];
        const example = JSON.stringify(schema.example, null, 2);
        section.append(element("pre", `${method.toUpperCase()} ${path}\nContent-Type: application/json\n\n${example}`), table(schema.properties));
      }
      document.getElementById("paths").append(section);
    }
  }
});
