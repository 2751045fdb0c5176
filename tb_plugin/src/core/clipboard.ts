/** Copies a text, also on plain http where the clipboard interface is missing. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (window.isSecureContext && navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Refused by policy or an iframe without permission: the old way may still work.
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.setAttribute('readonly', '');
  field.style.cssText = 'position:fixed;opacity:0;top:0';
  document.body.append(field);
  const before = document.activeElement as HTMLElement | null;
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus();
  return done;
}

/** Offers a text as a file. */
export function download(name: string, text: string, type: string): void {
  const anchor = document.createElement('a');
  const address = URL.createObjectURL(new Blob([text], { type }));
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A cell of a CSV file; texts that a spreadsheet would run as a formula are neutralised. */
export function csvCell(value: unknown): string {
  let cell = value === null || value === undefined ? '' : String(value);
  if (/^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?(e[-+]?\d+)?%?$/i.test(cell)) cell = `'${cell}`;
  return /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
