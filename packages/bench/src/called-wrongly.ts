/** What the caller can put right: a wrong option, a missing file. Printed as it is, without a stack; exit code 2. */
export class CalledWrongly extends Error {
  override readonly name = 'CalledWrongly';
}
