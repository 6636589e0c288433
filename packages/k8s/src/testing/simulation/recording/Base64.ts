/** Decodes text that a program has encoded in base64; returns any other text as it is. */
export const decoded = (text: string): string => {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return text
  const plain = Buffer.from(text, "base64").toString("latin1")
  return /^[\x20-\x7e\s]+$/.test(plain) ? plain : text
}
