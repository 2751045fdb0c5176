import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// `index.js` is what TensorBoard loads: a few hundred bytes that never get stale, pointing at files named by their content.
// `page.js` does the same for the page of its own, and for the exported report.
export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir: '../python/msprobe/tensorboard/static',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: 'src/index.ts', page: 'src/page.ts' },
      preserveEntrySignatures: 'strict',
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'static/[name]-[hash].js',
        assetFileNames: 'static/[name]-[hash][extname]',
      },
    },
  },
  test: { include: ['tests/**/*.test.ts'], environment: 'node' },
});
