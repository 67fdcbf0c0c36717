/* Functions through which Rust uses Mbed TLS without its structures, whose sizes depend on its
 * configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "mbedtls/error.h"
#include "mbedtls/net_sockets.h"
#include "mbedtls/pk.h"
#include "mbedtls/psa_util.h"
#include "mbedtls/ssl.h"
#include "mbedtls/ssl_ticket.h"
#include "mbedtls/version.h"
#include "mbedtls/x509_crt.h"
#include "psa/crypto.h"

/* Returned by `martlet_mbedtls_*` in place of a number of bytes. */
enum { WANT = -1, CLOSED = -2, FAILED = -3 };

struct martlet_context {
	mbedtls_ssl_config config;
	mbedtls_x509_crt certificates;
	mbedtls_pk_context key;
	mbedtls_ssl_ticket_context tickets;
};

/* Lifetime of a ticket in seconds. */
enum { LIFETIME = 86400 };

struct martlet_session {
	mbedtls_ssl_context ssl;
	int error;
	/* The peer's certificate was verified. */
	int verified;
	/* The serialised session with which the next connection resumes. */
	unsigned char *ticket;
	size_t ticket_size;
};

typedef int send_function(void *io, const unsigned char *bytes, size_t count);
typedef int receive_function(void *io, unsigned char *bytes, size_t count);

void martlet_mbedtls_free(struct martlet_context *context)
{
	if (context == NULL)
		return;
	mbedtls_ssl_config_free(&context->config);
	mbedtls_x509_crt_free(&context->certificates);
	mbedtls_pk_free(&context->key);
	mbedtls_ssl_ticket_free(&context->tickets);
	free(context);
}

/* A server's context if there is a key, else a client's. Both texts are PEM, and their sizes
 * include the terminating NUL.
 * end, which counts. */
struct martlet_context *martlet_mbedtls_context(const unsigned char *certificates,
	size_t certificates_size, const unsigned char *key, size_t key_size, int *error)
{
	static const int suites[] = {MBEDTLS_TLS1_3_AES_128_GCM_SHA256, 0};
	struct martlet_context *context;

	*error = psa_crypto_init() == PSA_SUCCESS ? 0 : MBEDTLS_ERR_SSL_HW_ACCEL_FAILED;
	if (*error != 0)
		return NULL;
	context = calloc(1, sizeof *context);
	if (context == NULL) {
		*error = MBEDTLS_ERR_SSL_ALLOC_FAILED;
		return NULL;
	}
	mbedtls_ssl_config_init(&context->config);
	mbedtls_x509_crt_init(&context->certificates);
	mbedtls_pk_init(&context->key);
	mbedtls_ssl_ticket_init(&context->tickets);
	*error = mbedtls_ssl_config_defaults(&context->config,
		key ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
		MBEDTLS_SSL_PRESET_DEFAULT);
	if (*error == 0)
		*error = mbedtls_x509_crt_parse(&context->certificates, certificates, certificates_size);
	if (*error > 0) /* The number of certificates that could not be parsed. */
		*error = MBEDTLS_ERR_X509_INVALID_FORMAT;
	if (*error == 0 && key != NULL)
		*error = mbedtls_pk_parse_key(&context->key, key, key_size, NULL, 0, mbedtls_psa_get_random,
			MBEDTLS_PSA_RANDOM_STATE);
	if (*error == 0 && key != NULL)
		*error = mbedtls_pk_check_pair(&context->certificates.pk, &context->key,
			mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
	if (*error == 0 && key != NULL)
		*error = mbedtls_ssl_conf_own_cert(&context->config, &context->certificates, &context->key);
	if (*error == 0 && key != NULL)
		*error = mbedtls_ssl_ticket_setup(&context->tickets, mbedtls_psa_get_random,
			MBEDTLS_PSA_RANDOM_STATE, MBEDTLS_CIPHER_AES_128_GCM, LIFETIME);
	if (*error != 0) {
		martlet_mbedtls_free(context);
		return NULL;
	}
	mbedtls_ssl_conf_rng(&context->config, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
	mbedtls_ssl_conf_ciphersuites(&context->config, suites);
	mbedtls_ssl_conf_min_tls_version(&context->config, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_max_tls_version(&context->config, MBEDTLS_SSL_VERSION_TLS1_3);
	if (key != NULL) {
		mbedtls_ssl_conf_session_tickets_cb(&context->config, mbedtls_ssl_ticket_write,
			mbedtls_ssl_ticket_parse, &context->tickets);
	} else {
		mbedtls_ssl_conf_session_tickets(&context->config, MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
		mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
			&context->config, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
		mbedtls_ssl_conf_ca_chain(&context->config, &context->certificates, NULL);
		mbedtls_ssl_conf_authmode(&context->config, MBEDTLS_SSL_VERIFY_REQUIRED);
	}
	return context;
}

void martlet_mbedtls_session_free(struct martlet_session *session)
{
	if (session == NULL)
		return;
	mbedtls_ssl_free(&session->ssl);
	free(session->ticket);
	free(session);
}

static int verified(void *session, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
	(void)certificate, (void)depth, (void)flags;
	((struct martlet_session *)session)->verified = 1;
	return 0;
}

/* The context must outlive the session. `name` is the name that the peer's certificate must have;
 * NULL for a server.
 * none. */
struct martlet_session *martlet_mbedtls_session(const struct martlet_context *context,
	const char *name, void *io, send_function *send, receive_function *receive, int *error)
{
	struct martlet_session *session = calloc(1, sizeof *session);

	if (session == NULL) {
		*error = MBEDTLS_ERR_SSL_ALLOC_FAILED;
		return NULL;
	}
	mbedtls_ssl_init(&session->ssl);
	*error = mbedtls_ssl_setup(&session->ssl, &context->config);
	if (*error == 0 && name != NULL)
		*error = mbedtls_ssl_set_hostname(&session->ssl, name);
	if (*error != 0) {
		martlet_mbedtls_session_free(session);
		return NULL;
	}
	mbedtls_ssl_set_bio(&session->ssl, io, send, receive, NULL);
	mbedtls_ssl_set_verify(&session->ssl, verified, session);
	return session;
}

/* Sets the ticket to resume with, before the handshake. An unusable ticket is ignored. */
void martlet_mbedtls_resume(
	struct martlet_session *session, const unsigned char *ticket, size_t size)
{
	mbedtls_ssl_session known;

	mbedtls_ssl_session_init(&known);
	if (mbedtls_ssl_session_load(&known, ticket, size) == 0)
		(void)mbedtls_ssl_set_session(&session->ssl, &known);
	mbedtls_ssl_session_free(&known);
}

/* For a client after the handshake: whether it resumed a session, so that no certificate was
 * verified. */
int martlet_mbedtls_resumed(const struct martlet_session *session)
{
	return !session->verified;
}

/* The serialised session for the next connection, or NULL. */
const unsigned char *martlet_mbedtls_ticket(const struct martlet_session *session, size_t *size)
{
	*size = session->ticket_size;
	return session->ticket;
}

static void save_ticket(struct martlet_session *session)
{
	mbedtls_ssl_session given;
	size_t size = 0;

	free(session->ticket);
	session->ticket = NULL;
	session->ticket_size = 0;
	mbedtls_ssl_session_init(&given);
	if (mbedtls_ssl_get_session(&session->ssl, &given) == 0) {
		(void)mbedtls_ssl_session_save(&given, NULL, 0, &size);
		session->ticket = size == 0 ? NULL : malloc(size);
		if (session->ticket != NULL &&
			mbedtls_ssl_session_save(&given, session->ticket, size, &session->ticket_size) != 0)
			session->ticket_size = 0;
	}
	mbedtls_ssl_session_free(&given);
}

static int outcome(struct martlet_session *session, int code)
{
	switch (code) {
	case MBEDTLS_ERR_SSL_WANT_READ:
	case MBEDTLS_ERR_SSL_WANT_WRITE:
		return WANT;
	case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
		return CLOSED;
	default:
		if (code >= 0)
			return code;
		session->error = code;
		return FAILED;
	}
}

int martlet_mbedtls_handshake(struct martlet_session *session)
{
	return outcome(session, mbedtls_ssl_handshake(&session->ssl));
}

int martlet_mbedtls_read(struct martlet_session *session, unsigned char *bytes, size_t count)
{
	int code, again, asked = 0;

	do {
		code = mbedtls_ssl_read(&session->ssl, bytes, count);
		again = 0;
		if (code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
			save_ticket(session);
			again = 1;
			asked = 0;
		} else if (code == MBEDTLS_ERR_SSL_WANT_READ && !asked) {
			/* Mbed TLS returns WANT_READ although a received ticket is unprocessed, so it is called
			 * once more.
			 * that it wants. */
			again = asked = 1;
		}
	} while (again);
	/* Mbed TLS returns 0 at the end of the transport's input, which is not the end of TLS. */
	return code == 0 ? WANT : outcome(session, code);
}

int martlet_mbedtls_write(
	struct martlet_session *session, const unsigned char *bytes, size_t count)
{
	return outcome(session, mbedtls_ssl_write(&session->ssl, bytes, count));
}

void martlet_mbedtls_close(struct martlet_session *session)
{
	(void)mbedtls_ssl_close_notify(&session->ssl);
}

const char *martlet_mbedtls_protocol(const struct martlet_session *session)
{
	return mbedtls_ssl_get_version(&session->ssl);
}

const char *martlet_mbedtls_cipher_suite(const struct martlet_session *session)
{
	const char *name = mbedtls_ssl_get_ciphersuite(&session->ssl);

	return name == NULL ? "none" : name;
}

int martlet_mbedtls_session_error(const struct martlet_session *session)
{
	return session->error;
}

void martlet_mbedtls_explain(int error, char *text, size_t size)
{
	mbedtls_strerror(error, text, size);
}

const char *martlet_mbedtls_version(void)
{
	return MBEDTLS_VERSION_STRING_FULL;
}
