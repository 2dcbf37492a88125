/** The case in the address after #, so that a link restores it. */

let start = "";

/** Set the case of an address without one. */
export function setStart(link: string): void {
  start = link;
}

export function readLink(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1) || start);
}

export function writeLink(params: URLSearchParams): void {
  try {
    history.replaceState(null, "", `#${params}`);
  } catch {
    // A page inside a notebook has no address of its own.
  }
}

/** Name of a column in a link, where ~ is the first character of settings. */
export const linkKey = (name: string): string => (name.startsWith("~") ? `~${name}` : name);
