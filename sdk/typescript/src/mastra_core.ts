/*
 * mastra_core.ts - what the provider needs of @mastra/core/workspace, all of it there, or an error that names the version.
 *
 * Names that an older package has not would end the import with a bare SyntaxError, before any word of ours.
 */
import * as workspace from '@mastra/core/workspace';

const NEEDED = ['MastraSandbox', 'MountError', 'ProcessHandle', 'SandboxAbortError', 'SandboxNotReadyError', 'SandboxProcessManager', 'validateSandboxFileMode'];
const missing = NEEDED.filter(name => !(name in workspace));

if (missing.length > 0)
        throw new Error(`carrel-sandbox/mastra needs @mastra/core 1.71.0 or later: the one that is installed has no ${missing.join(', ')}. Run: npm install @mastra/core@1.71.0`);

export { workspace };
