// SUPIs as users write them: `imsi-` and digits, or `nai-` and a network-specific identifier
// (TS 23.003, 28.7). The prefix may be left out.

export function supiOf(text) {
  const given = text.trim();
  if (/^(imsi|nai)-/.test(given)) return given;
  if (given.includes("@")) return `nai-${given}`;
  const digits = given.replace(/\D/g, "");
  // The API says what is wrong with other text.
  return digits ? `imsi-${digits}` : given;
}

// What lists of SUPIs search for: an identifier with its prefix, others as they are.
export const searchOf = (text) => (text.includes("@") ? supiOf(text) : text.trim());

// A SUPI without the prefix, as it is written beside a mark.
export const shortOf = (supi) => supi.replace(/^(imsi|nai)-/, "");

// A SUPI in a path of the API or in a link.
export const inPath = (supi) => encodeURIComponent(supi);

// The text of a segment of a link. A wrong escape, which a user may have typed, stays as it is.
export function fromPath(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}
