// What a component is sent (assets.py): a line of JSON, and the rest, which is read only where its version is new.
const decoder = new TextDecoder();

// The header, and a function that reads the rest.
function received(bytes) {
  const line = bytes.indexOf(10);
  return [JSON.parse(decoder.decode(bytes.subarray(0, line))), () => JSON.parse(decoder.decode(bytes.subarray(line + 1)))];
}
