/*
 * osp_wrong.ts - must not compile: shows that the check of osp_check.ts can fail.
 */
import { CarrelClient } from 'carrel-sandbox';

import type * as text from './osp_text.ts';

export const sandbox: text.Sandbox = new CarrelClient();
