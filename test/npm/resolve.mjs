/*
 * resolve.mjs - lets the test programs import what build-npm/ holds, although they stand elsewhere in the tree.
 */
import { registerHooks } from 'node:module';

const BUILD = new URL('../../build-npm/package.json', import.meta.url).href;

registerHooks({
        resolve(specifier, context, next) {
                try {
                        return next(specifier, context);
                } catch (e) {
                        if (e.code !== 'ERR_MODULE_NOT_FOUND' || /^[./]|^[a-z]+:/.test(specifier))
                                throw e;
                        return next(specifier, { ...context, parentURL: BUILD });
                }
        },
});
