// What benchmarks and the test kit serve.
export { createMarks } from './actions/marks.ts';
export { createApp } from './app.ts';
