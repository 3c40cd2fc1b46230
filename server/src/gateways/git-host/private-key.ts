// Reads the private key for the operator's App from a setting.
import { createPrivateKey } from 'node:crypto';

/**
 * Parses an RSA key in PEM format: plain, with `\n` instead of line breaks, or base64-encoded. Returns it as PEM. If
 * that fails, throws an error that describes the expected format.
 */
export function parsePrivateKey(text: string): string {
  const isPem = text.includes('-----BEGIN');
  const pem = isPem ? text.replaceAll('\\n', '\n') : Buffer.from(text, 'base64').toString('utf8');
  try {
    if (createPrivateKey(pem).asymmetricKeyType === 'rsa') return pem;
  } catch {
    // Reported below instead, because the library's error may contain parts of the key.
  }
  throw new Error('must be an RSA private key in PEM format, optionally base64-encoded');
}
