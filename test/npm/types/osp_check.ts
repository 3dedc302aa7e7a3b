/*
 * osp_check.ts - compiles when our class is OSP's interfaces, and our types are OSP's types, in both directions.
 */
import { CarrelOsp } from 'carrel-sandbox/osp';
import type * as ours from 'carrel-sandbox/osp';

import type * as text from './osp_text.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<T extends true>(): T | void {}

const osp = new CarrelOsp();
export const sandbox: text.Sandbox = osp;
export const context: text.SandboxContext = osp;
export const actions: text.SandboxActions = osp;
export const context_half: text.SandboxContext = osp.context();
export const actions_half: text.SandboxActions = osp.actions();

holds<Same<ours.SandboxStatus, text.SandboxStatus>>();
holds<Same<ours.SandboxEntry, text.SandboxEntry>>();
holds<Same<ours.SandboxConfig, text.SandboxConfig>>();
holds<Same<ours.CommandResult, text.CommandResult>>();
holds<Same<ours.SandboxFile, text.SandboxFile>>();
holds<Same<ours.Sandbox, text.Sandbox>>();

// The halves are exactly halves: neither can do what the other does.
holds<Same<keyof ours.SandboxContext, keyof text.SandboxContext>>();
holds<Same<keyof ours.SandboxActions, keyof text.SandboxActions>>();
// @ts-expect-error the context cannot act
osp.context().stop;
// @ts-expect-error the actions cannot look
osp.actions().list;
