// The app for benchmarks and the test kit.
export { createMarks } from './actions/marks.ts';
export { createApp } from './app.ts';
export { readControls } from './evidence/controls.ts';
export { type Manifest } from './evidence/summary.ts';
export { makeServer } from './server.ts';
