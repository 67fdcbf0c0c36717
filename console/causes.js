// Causes of TS 24.501 (9.11.3.2 and 9.11.4.2) in words, with what an operator can do.
const GMM = {
  3: ["Illegal UE: the authentication failed", "Compare K and OPc of the subscriber with those of the SIM."],
  5: ["The PEI is not accepted", "The equipment is barred: check its IMEI."],
  6: ["Illegal ME: the equipment is barred", "Check the IMEI of the UE."],
  7: ["5GS services are not allowed", "The subscriber has no subscription: add it, or check its service area."],
  9: ["The network cannot derive the UE's identity", "The UE registers again by itself with its SUCI."],
  11: ["The PLMN is not allowed", "Compare the UE's home network with network.plmn."],
  12: ["The tracking area is not allowed", "Check service_area of the subscriber, and the TAC of the gNB."],
  13: ["Roaming is not allowed in this tracking area", "Check service_area of the subscriber."],
  15: ["There is no suitable cell in the tracking area", "Check the TAC of the gNB and amf.tais."],
  20: ["MAC failure: the UE did not accept the network's challenge", "K or OPc of the subscriber are not those of the SIM."],
  21: ["Synch failure: the sequence number differs", "The core synchronises by itself. If it repeats, check that no other core uses the SIM."],
  22: ["Congestion", "The core limits procedures that run at once: see amf.concurrency and the load."],
  23: ["The UE's security capabilities differ from the request's", "A message was changed on its way, or the UE is defective."],
  24: ["The security mode was rejected by the UE", "Compare the algorithms of amf.security with those of the UE."],
  26: ["Non-5G authentication is unacceptable", "The separation bit of the AMF field is not set: use 8000."],
  27: ["The N1 mode is not allowed", "The subscription does not allow 5G."],
  28: ["The service area is restricted", "Check service_area of the subscriber."],
  43: ["There is no such LADN", "Check the data network of the request."],
  62: ["No network slices are available", "Compare the slices of the subscriber with network.slices and those of the gNB."],
  65: ["The maximum number of PDU sessions is reached", "Release a session of the UE."],
  67: ["Insufficient resources for the slice and DNN", "Check the address pool of the data network."],
  69: ["Insufficient resources for the slice", "Check the load of the slice."],
  72: ["Non-3GPP access to the 5GC is not allowed", "Check the subscription."],
  90: ["The payload was not forwarded", "The SMF does not answer, or the session does not exist."],
  91: ["The DNN is not supported in the slice", "Compare the DNN of the request with smf.dnns and the subscription."],
  92: ["There are insufficient user plane resources", "Check the UPF and its address pools."],
  95: ["The message is semantically incorrect", "The UE is defective or of a later release."],
  111: ["Protocol error", "See the log of the AMF for the message."],
};
const GSM = {
  26: ["Insufficient resources", "Check the address pool of the data network and the limits of the SMF."],
  27: ["The DNN is unknown or missing", "Add the data network to smf.dnns, or correct the DNN of the UE."],
  28: ["Unknown PDU session type", "Allow the type in session_types of the subscriber."],
  29: ["The user was not authenticated by the data network", "Check the credentials."],
  31: ["The request was rejected", "See the log of the SMF."],
  33: ["The service option is not subscribed", "Add the data network to the subscriber's slice."],
  38: ["The network failed", "Check that the UPF is associated (page Radio and alarms)."],
  50: ["Only IPv4 is allowed", "Allow IPv6 in session_types of the subscriber, or the UE uses IPv4."],
  51: ["Only IPv6 is allowed", "Allow IPv4 in session_types of the subscriber, or the UE uses IPv6."],
  54: ["The PDU session does not exist", "The UE establishes it again by itself."],
  67: ["Insufficient resources for the slice and DNN", "Check the address pool of the data network."],
  69: ["Insufficient resources for the slice", "Check the load of the slice."],
};
const WORDS = [
  [/unknown subscriber|USER_NOT_FOUND|no such subscriber/i, ["The subscriber is not in the database", "Add the subscriber with the SIM's K and OPc."]],
  [/AUTHENTICATION_REJECTED|authentication (rejected|failed)|not_authentic|wrong RES|MAC failure/i, GMM[20]],
  [/no slice|SNSSAI_NOT_ALLOWED/i, GMM[62]],
  [/no answer to paging/i, ["The UE did not answer the paging", "It is switched off or out of coverage."]],
];

// What went wrong in an event, in words with the remedy; null if nothing did.
export function cause(event) {
  const more = event.more ?? {};
  const text = `${event.what} ${Object.values(more).join(" ")}`;
  const isBad = /reject|fail|refus|not reachable|no answer|not found|unknown|abandon/i.test(text);
  if (!isBad) return null;
  const number = Number(/(?:#|^|cause_)(\d{1,3})\b/.exec(String(more.cause ?? more.why ?? ""))?.[1] ?? NaN);
  const table = event.nf === "smf" ? GSM : GMM;
  if (table[number]) return [`#${number}: ${table[number][0]}`, table[number][1]];
  for (const [pattern, words] of WORDS) if (pattern.test(text)) return words;
  return [String(more.cause ?? more.why ?? more.problem ?? event.what), "See the log of the function for details."];
}
