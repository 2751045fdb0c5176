/** Follows TensorBoard's dark mode while it changes; on a page of its own, the system's. */

export function watchDark(listener: (dark: boolean) => void): () => void {
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  let host: HTMLElement | null = null;
  try {
    if (window.parent !== window) host = window.parent.document.body;
  } catch {
    // Framed by another origin.
  }
  const tell = (): void => listener(host ? host.classList.contains('dark-mode') : system.matches);
  tell();
  if (!host) {
    system.addEventListener('change', tell);
    return () => system.removeEventListener('change', tell);
  }
  const observer = new MutationObserver(tell);
  observer.observe(host, { attributes: true, attributeFilter: ['class'] });
  return () => observer.disconnect();
}
