"""The tokens that hosted services begin with letters of their own, so that whoever finds one knows whose it is.

Lengths are those of Betterleaks' rules and of the services' documentation. What a page may publish is left out: ids,
keys for browsers, and keys for tests.
"""

import re
from typing import NamedTuple


class ServiceToken(NamedTuple):
    """The tokens of one service.

    :param kind: their name for people.
    :param hints: lower-case beginnings, separated by spaces: one is in every token.
    :param expression: the whole of a token; no part of a name stands before it, nothing alphanumeric behind it.
    """

    kind: str
    hints: str
    expression: str

    @property
    def may_look_like_a_name(self) -> bool:
        """Whether words with hyphens or underscores between them could have its form."""
        return r"\w" in self.expression

    @property
    def rule(self) -> str:
        """Last part of the rule's id."""
        return re.sub(r"[^a-z0-9]+", "-", self.kind.lower())


SERVICE_TOKENS = (
    ServiceToken(
        "1Password key",
        "a3- ops_eyj",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}|ops_eyJ[A-Za-z0-9+/]{250,1000}",
    ),
    ServiceToken("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ServiceToken("Alibaba access key", "ltai", r"LTAI(?=[A-Za-z]{0,19}\d)[A-Za-z0-9]{17,21}"),
    ServiceToken("Apify token", "apify_api_", r"apify_api_[A-Za-z0-9]{34,38}"),
    ServiceToken("Artifactory token", "akcp cmvmd", r"AKCp[A-Za-z0-9]{68,70}|cmVmdGtu[A-Za-z0-9]{56}"),
    ServiceToken("Atlassian token", "atatt3 atctt3", r"AT[AC]TT3[\w-]{80,250}={0,2}\w{0,8}"),
    ServiceToken(
        "Authress key",
        ".acc",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
    ),
    ServiceToken("Azure client secret", "q~", r"[\w.~]{3}\dQ~[\w.~-]{31,34}"),
    ServiceToken("Bedrock key", "abskqmvk", r"ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{80,250}={0,2}"),
    ServiceToken("Bitbucket token", "bbdc-", r"BBDC-[A-Za-z0-9+/]{32,80}"),
    ServiceToken("Brevo key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ServiceToken("Buildkite token", "bkua_ bkaa_", r"bkua_(?:[a-z0-9]{53}|[a-z0-9]{40})|bkaa_[\w-]{75}"),
    ServiceToken("Canva secret", "cnvca", r"cnvca[\w-]{51}"),
    ServiceToken("Cerebras key", "csk-", r"csk-[a-z0-9]{48}"),
    ServiceToken("CircleCI token", "ccipat_ cciprj_", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[a-z0-9]{40}"),
    ServiceToken("Clojars token", "clojars_", r"CLOJARS_[a-z0-9]{60}"),
    ServiceToken(
        "Cloudflare token", "cfut_ cfat_ v1.0-", r"cf[ua]t_[A-Za-z0-9]{40}[a-f0-9]{8}|v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"
    ),
    ServiceToken("CockroachDB key", "ccdb1_", r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    ServiceToken("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    ServiceToken("DataStax token", "astracs:", r"AstraCS:[A-Za-z0-9]{20}:[a-f0-9]{64}"),
    ServiceToken("Deno token", "ddo_ ddp_", r"dd[op]_[A-Za-z0-9]{36}"),
    ServiceToken(
        "Docker token",
        "dckr_ swmtkn-1- swmkey-1-",
        r"dckr_(?:pat_[\w-]{27}|oat_[\w-]{32})|SWMTKN-1-[a-z0-9]{50,60}-[a-z0-9]{24,30}|SWMKEY-1-[A-Za-z0-9+/]{40,50}",
    ),
    ServiceToken(
        "Doppler token",
        "dp.",
        r"dp\.(?:pt|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44}|dp\.st\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    ServiceToken("Duffel token", "duffel_live_", r"duffel_live_[\w=-]{43}"),
    ServiceToken("Dynatrace token", "dt0c01.", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ServiceToken("EasyPost key", "ezak", r"EZAK[A-Za-z0-9]{54}"),
    ServiceToken("Figma token", "figd_", r"figd_[\w-]{38,42}"),
    ServiceToken("Flutterwave key", "flwseck-", r"FLWSECK-[a-z0-9]{32}-\w{0,14}X"),
    ServiceToken("Fly.io token", "flyv1 fm2_", r"(?:FlyV1 )?fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}"),
    ServiceToken("Forge feedback token", "forge_fb_", r"forge_fb_[a-z2-7]{8}_[\w-]{43}"),
    ServiceToken("Frame.io token", "fio-u-", r"fio-u-[\w=-]{64}"),
    ServiceToken(
        "Grafana token", "glc_ glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_eyJ[A-Za-z0-9+/]{37,150}={0,2}"
    ),
    ServiceToken("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    ServiceToken("Harness token", "pat. sat.", r"(?:pat|sat)\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    ServiceToken("Heroku key", "hrku-", r"HRKU-[\w-]{60}"),
    ServiceToken("Infracost key", "ico-", r"ico-(?=[a-zA-Z]{0,31}\d)[A-Za-z0-9]{32}"),
    ServiceToken("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ServiceToken("Linear key", "lin_api_ lin_oauth_", r"lin_api_[A-Za-z0-9]{40}|lin_oauth_[a-f0-9]{64}"),
    ServiceToken("Mailgun key", "key-", r"key-[a-f0-9]{32}"),
    ServiceToken("Mapbox token", "sk.eyj", r"sk\.eyJ[\w-]{60,120}\.[\w-]{22}"),
    ServiceToken("MaxMind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ServiceToken("Mergify key", "mergify_application_key_", r"mergify_application_key_[\w-]{40,200}"),
    ServiceToken("Neon key", "napi_", r"napi_[a-z0-9]{64}"),
    ServiceToken("New Relic key", "nrak- nrii-", r"NRAK-[A-Z0-9]{27}|NRII-[\w-]{32}"),
    ServiceToken("Notion token", "ntn_", r"ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    ServiceToken("NVIDIA key", "nvapi-", r"nvapi-[\w-]{60,70}"),
    ServiceToken("OpenRouter key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    ServiceToken("OpenShift token", "sha256~", r"sha256~[\w-]{43}"),
    ServiceToken("Packagist token", "packagist_", r"packagist_(?:ort|out|acs)_[0-9a-f]{64,96}"),
    ServiceToken("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    ServiceToken("Pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}"),
    ServiceToken("PlanetScale token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}"),
    ServiceToken("PostHog key", "phx_", r"phx_[\w-]{41,49}"),
    ServiceToken("Postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ServiceToken("Prefect key", "pnu_", r"pnu_[A-Za-z0-9]{36}"),
    ServiceToken("Pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    ServiceToken("ReadMe key", "rdme_", r"rdme_[a-z0-9]{70}"),
    ServiceToken("Render key", "rnd_", r"rnd_(?=[a-zA-Z]{0,27}\d)[A-Za-z0-9]{28}"),
    ServiceToken("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    ServiceToken(
        "Resend key", "re_", r"re_(?=\w{0,32}\d)[1-9A-HJ-NP-Za-km-z]{8}_(?=[a-z]{0,23}[A-Z\d])[1-9A-HJ-NP-Za-km-z]{24}"
    ),
    ServiceToken("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    ServiceToken("Scalingo token", "tk-us-", r"tk-us-[\w-]{48}"),
    ServiceToken(
        "Sentry token",
        "sntrys_ sntryu_",
        r"sntrys_eyJ[A-Za-z0-9+/]{30,400}={0,2}_[A-Za-z0-9+/]{43}|sntryu_[a-f0-9]{64}",
    ),
    ServiceToken("Shippo token", "shippo_live_", r"shippo_live_[a-fA-F0-9]{40}"),
    ServiceToken("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ServiceToken("Sourcegraph token", "sgp_", r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}"),
    ServiceToken("Supabase key", "sbp_ sb_secret_", r"sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[\w-]{31}"),
    ServiceToken(
        "Tailscale key", "tskey-", r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{14,40}"
    ),
    ServiceToken("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}"),
    ServiceToken("Typeform token", "tfp_", r"tfp_[\w.=-]{59}"),
    ServiceToken("Vercel token", "vck_ vca_ vcr_ vci_ vcp_", r"vc[karip]_[\w-]{56}"),
    ServiceToken("Weights & Biases key", "wandb_v1_", r"wandb_v1_\w{77}"),
    ServiceToken("xAI key", "xai-", r"xai-[A-Za-z0-9]{70,120}"),
)
