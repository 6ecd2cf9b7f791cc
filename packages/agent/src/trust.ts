// Which certificates a server may show to an agent, as for the CLI: those of the authorities that Node was built with, of the
// system's store, and of the file that the operator names.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { OperationalError } from '@muster/model';

let known: readonly string[] | null = null;
let last: { readonly own: string | null; readonly context: SecureContext } | null = null;

/** Reads the file again each time, because it may be replaced under a running agent. */
export function trust(caFile: string | undefined): SecureContext {
  const own = caFile === undefined ? null : readCaFile(caFile);
  // The system's store is large, and an agent that looks for its server connects often.
  if (last?.own === own) return last.context;
  known ??= [...new Set([...getCACertificates('default'), ...systemCertificates()])];
  last = { own, context: createSecureContext({ ca: [...known, ...(own === null ? [] : [own])] }) };
  return last.context;
}

/** The store may hold what Node cannot read, or not be there; that is no reason to stop. */
function systemCertificates(): string[] {
  try {
    return getCACertificates('system');
  } catch {
    return [];
  }
}

export function readCaFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new OperationalError('invalid-field', `the certificate file ${path} cannot be read`, { cause });
  }
  try {
    // A context is made of anything; what cannot be read is left out of it without a word.
    const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    if (found.length === 0) throw new Error('there is no certificate in it');
    for (const one of found) new X509Certificate(one);
  } catch (cause) {
    const message = `${path} is not a certificate in PEM form: it begins with "-----BEGIN CERTIFICATE-----"`;
    throw new OperationalError('invalid-field', message, { cause });
  }
  return text;
}

/** Why a connection failed, in words that say what to do about a certificate. */
export function whyNoConnection(error: Error): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'CERT_HAS_EXPIRED') return "the server's certificate has expired";
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return "the server's certificate is for another name";
  if (!/CERT|UNABLE_TO_VERIFY/.test(code)) return message;
  return `the server's certificate is not trusted (${code}); give the certificate of its authority with --ca-file`;
}
