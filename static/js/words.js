// What the scripts say, in the language of the page. Touches: #words.

export const text = (name) => document.getElementById("words")?.dataset[name] ?? "";
