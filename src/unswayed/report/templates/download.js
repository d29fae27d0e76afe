"use strict";
// A text that a spreadsheet would run as a formula gets an apostrophe in front.
const formula = /^(?:[\t\r\n]|[\s\x1c-\x1f\x85]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
function field(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = formula.test(text) && !plainNumber.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}
// Hands a table, as lines of cells, to the reader as a CSV file.
function download(lines, name) {
  const text = lines.map((line) => line.map(field).join(",") + "\r\n").join("");
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}
