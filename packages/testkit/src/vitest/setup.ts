import { tmpdir } from 'node:os';
import { removeScratchFolder } from './scratch-folder.ts';

/** Set up before all others, and so ended after them: removes the run's folder, which vitest.config.ts made. */
export default function setup(): () => void {
  return () => removeScratchFolder(tmpdir());
}
